package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	hellofleet "github.com/kalypso-io/kalypso/examples/hello-fleet"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/sample/scaffold"
)

// initCommand writes a new repository.
type initCommand struct {
	t *terminal.Terminal
	// url is where the repository will be pushed to; empty when nobody knows yet.
	url string
}

func newInit(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:     "init",
		Short:   "Write a repository to start from",
		Long:    "Write a repository to start from: a working example, to be changed piece by piece.",
		Example: "  kalypso init control-plane my-control-plane\n  kalypso init gitops my-gitops",
	})
	cmd.AddCommand(newInitControlPlane(t), newInitGitOps(t), newInitApp(t), newInitConfig(t), newInitServices(t), newInitCI(t))
	return cmd
}

func newInitControlPlane(t *terminal.Terminal) *cobra.Command {
	c := &initCommand{t: t}
	cmd := &cobra.Command{
		Use:   "control-plane DIR",
		Short: "Write a control plane: an example fleet with the environments dev and stage",
		Long: `Write a control plane: an example fleet with the environments dev and stage.

DIR becomes a Git repository with three branches. It must be new, or an empty folder.

    main    environments, registered workloads, templates, schemas: what is promoted
    dev     cluster types, policies and configuration of the first environment
    stage   the same for the second one`,
		Example: `  kalypso init control-plane my-control-plane
  kalypso init control-plane my-control-plane --url https://github.com/org/my-control-plane`,
		Args: cli.Exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.controlPlane(cmd, args[0]) },
	}
	c.bind(cmd)
	return cmd
}

func newInitGitOps(t *terminal.Terminal) *cobra.Command {
	c := &initCommand{t: t}
	cmd := &cobra.Command{
		Use:   "gitops DIR",
		Short: "Write a platform GitOps repository: the branches dev and stage, still empty",
		Long: `Write a platform GitOps repository: the branches dev and stage, still empty.

DIR becomes a Git repository. It must be new, or an empty folder.
The example control plane expects it beside itself, under the name gitops.`,
		Example: `  kalypso init gitops gitops
  kalypso init gitops gitops --url https://github.com/org/gitops`,
		Args: cli.Exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.gitOps(cmd, args[0]) },
	}
	c.bind(cmd)
	return cmd
}

func (c *initCommand) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.url, "url", "", "the `URL` the repository will have; it becomes the remote origin")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
}

func (c *initCommand) controlPlane(cmd *cobra.Command, dir string) error {
	if err := scaffold.CheckURL(c.url); err != nil {
		return cli.Usage(cmd, "--url: %w", err)
	}
	urls, err := scaffold.URLs(c.url)
	if err != nil {
		return cli.Usage(cmd, "--url: %w", err)
	}
	branches, err := scaffold.ControlPlaneBranches(hellofleet.Files(), urls)
	if err != nil {
		return err
	}
	return c.create(cmd.Context(), dir, "control plane", branches, planFirst(dir, urls[scaffold.GitOpsSibling]))
}

func (c *initCommand) gitOps(cmd *cobra.Command, dir string) error {
	if err := scaffold.CheckURL(c.url); err != nil {
		return cli.Usage(cmd, "--url: %w", err)
	}
	return c.create(cmd.Context(), dir, "GitOps repository", scaffold.GitOpsBranches(),
		[]string{"kalypso schedule -e dev --commit --control-plane CONTROL-PLANE"})
}

// planFirst returns the commands that lead from a new control plane to its first plan.
// A plan compares with the GitOps repository, so there has to be one; url is its URL, empty when it has none.
func planFirst(dir, url string) []string {
	gitops := filepath.Join(dir, scaffold.GitOpsSibling)
	create := "kalypso init gitops " + terminal.ShellWord(gitops)
	plan := "kalypso plan -e dev --control-plane " + terminal.ShellWord(dir)
	if url != "" {
		create += " --url " + terminal.ShellWord(url)
		plan += " --map " + terminal.ShellWord(url+"="+gitops)
	}
	if _, err := os.Stat(gitops); err == nil {
		return []string{plan}
	}
	return []string{create, plan}
}

// create makes the repository and says what to try next.
func (c *initCommand) create(ctx context.Context, dir, what string, branches []scaffold.Branch, next []string) error {
	now := c.t.Now()
	request := git.CreateRequest{Author: repository.Author(c.t.Env), When: now, Remote: c.url}
	var names []string
	for _, b := range branches {
		names = append(names, b.Name)
		request.Branches = append(request.Branches, git.NewBranch{
			Name: b.Name, Files: b.Files,
			Message: fmt.Sprintf("Start the branch %s\n\nWritten by kalypso init.\n", b.Name),
		})
	}
	if err := git.Create(ctx, dir, request); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.t.Out, "%s a %s to %s, with the branches %s\n\ntry next:\n  %s\n",
		c.t.OutStyle.Green("wrote"), what, terminal.Printable(dir), strings.Join(names, ", "), strings.Join(next, "\n  "))
	return err
}
