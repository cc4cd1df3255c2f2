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

// initCommand creates a repository from an example.
type initCommand struct {
	t *terminal.Terminal
	// url is the future URL of the repository; optional.
	url string
}

func newInit(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:     "init",
		Short:   "Create a repository from an example",
		Long:    "Create a repository from a working example, as a starting point.",
		Example: "  kalypso init control-plane my-control-plane\n  kalypso init gitops my-gitops",
	})
	cmd.AddCommand(newInitControlPlane(t), newInitGitOps(t), newInitApp(t), newInitConfig(t), newInitServices(t), newInitCI(t))
	return cmd
}

func newInitControlPlane(t *terminal.Terminal) *cobra.Command {
	c := &initCommand{t: t}
	cmd := &cobra.Command{
		Use:   "control-plane DIR",
		Short: "Create a control plane with an example fleet",
		Long: `Create a control plane with an example fleet: the environments dev and stage.

DIR must be new or empty. It becomes a Git repository with three branches:

    main    environments, registered workloads, templates, schemas: this is promoted
    dev     cluster types, policies and configuration of the first environment
    stage   the same for the second environment`,
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
		Short: "Create an empty platform GitOps repository",
		Long: `Create a platform GitOps repository with the empty branches dev and stage.

DIR must be new or empty. The example control plane expects the repository next to itself, with the name gitops.`,
		Example: `  kalypso init gitops gitops
  kalypso init gitops gitops --url https://github.com/org/gitops`,
		Args: cli.Exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.gitOps(cmd, args[0]) },
	}
	c.bind(cmd)
	return cmd
}

func (c *initCommand) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.url, "url", "", "the future `URL` of the repository; it becomes the remote origin")
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

// planFirst returns the commands from a new control plane to its first plan, which needs a GitOps repository.
// url is that of the control plane; optional.
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

// create creates the repository and prints what to do next.
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
		c.t.OutStyle.Green("wrote"), what, terminal.Printable(dir), strings.Join(names, ", "), strings.Join(withPath(c.t, next...), "\n  "))
	return err
}
