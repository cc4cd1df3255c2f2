package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/sample/scaffold"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// initCICommand is "kalypso init ci".
type initCICommand struct {
	t *terminal.Terminal
	// forges has the flag of each forge.
	forges map[string]*bool
	// target is the kind of the repository; empty to detect it.
	target string
	// version is the version that workflows install; empty for this one.
	version string
	force   bool
}

func newInitCI(t *terminal.Terminal) *cobra.Command {
	c := &initCICommand{t: t, forges: map[string]*bool{}}
	cmd := &cobra.Command{
		Use:   "ci (--github | --gitlab | --azure | --bitbucket)",
		Short: "Create CI workflows for a repository",
		Long: `Create CI workflows in the repository of the current folder. They call kalypso commands and need no server. You can edit them.

    control-plane   check: plan and problems of pull requests;   schedule, promote: pull requests to the GitOps repository
    app             ci: lint, test, scan, check, build and push the image;   prepare-pr, deploy: promotion
    services        the same for third-party charts, without an image
    gitops          notify-on-pr: notify the control plane or the application that a pull request was merged
    config          check: edit rights of pull requests (not for Bitbucket, which does not name their authors);
                    notify-on-config-change: notify the application that its configuration changed

The kind of the repository is detected from its content, or given with --for. Each file starts with the secrets and variables that it
needs. An existing file that differs is not overwritten: the diff is shown, and --force overwrites it.`,
		Example: `  kalypso init ci --github
  kalypso init ci --gitlab --for app
  kalypso init ci --azure --kalypso-version v1.2.3 --force`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	for _, f := range scaffold.Forges {
		c.forges[f.Name] = flags.Bool(f.Name, false, "create workflows for "+f.Product)
	}
	flags.StringVar(&c.target, "for", "", "the `kind` of the repository: control-plane, app, services, config or gitops (default: detected)")
	flags.StringVar(&c.version, "kalypso-version", "", "the `version` of Kalypso that workflows install: a tag or commit (default: this version)")
	flags.BoolVar(&c.force, "force", false, "overwrite files that differ")
	return cmd
}

func (c *initCICommand) run(cmd *cobra.Command) error {
	forge, err := c.forge(cmd)
	if err != nil {
		return err
	}
	if c.target != "" && !slices.Contains(scaffold.Kinds, scaffold.Kind(c.target)) {
		return cli.Usage(cmd, "--for %q is not one of %v", c.target, scaffold.Kinds)
	}
	data := scaffold.Facts{Version: cmp.Or(c.version, installable(cli.Version()))}
	if data.Version == "" {
		return cli.Usage(cmd, "workflows cannot install a development build; choose a version with --kalypso-version")
	}
	root, err := c.repository()
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // what was written is closed already
	data.Own = scaffold.StepsOf(root.FS())
	target := scaffold.Kind(c.target)
	if target == "" {
		if target, err = scaffold.Detect(root.FS()); err != nil {
			return fmt.Errorf("look what %q is: %w", root.Name(), err)
		}
	}
	switch target {
	case "":
		return cli.Usage(cmd, "cannot detect the kind of this repository; use --for")
	case scaffold.ControlPlane:
		if data.Environments, err = c.environments(cmd.Context(), root.Name()); err != nil {
			return err
		}
	}
	files, err := forge.Workflows(target, data)
	if err != nil {
		return err
	}
	return c.write(root, target, files, data)
}

// forge returns the forge that the flags choose.
func (c *initCICommand) forge(cmd *cobra.Command) (scaffold.Forge, error) {
	var asked []scaffold.Forge
	for _, f := range scaffold.Forges {
		if *c.forges[f.Name] {
			asked = append(asked, f)
		}
	}
	if len(asked) != 1 {
		return scaffold.Forge{}, cli.Usage(cmd, "choose one of --github, --gitlab, --azure and --bitbucket")
	}
	return asked[0], nil
}

// installable returns the version of this build if "go install" can install it.
func installable(version string) string {
	if version == "devel" || strings.HasSuffix(version, "+dirty") {
		return ""
	}
	return version
}

// repository opens the work tree of the current folder. Links that lead out of it are not followed.
func (c *initCICommand) repository() (*os.Root, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := git.Discover(here)
	if err != nil {
		return nil, cli.Failed(err, "run it in a Git repository")
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		return nil, cli.Failed(fmt.Errorf("%q has no work tree", dir), "run it in a clone")
	}
	return os.OpenRoot(dir)
}

// environments reads the environments of the control plane: workflows name their branches.
func (c *initCICommand) environments(ctx context.Context, dir string) ([]schedule.EnvironmentBranch, error) {
	source := sourceFlags{controlPlane: dir}
	s, err := source.open(ctx, c.t)
	if err != nil {
		return nil, err
	}
	defer s.close()
	found, err := s.drafter.Loader.EnvironmentBranches(ctx, s.request)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, cli.Failed(errors.New("the branch main has no environment"), "commit an Environment for each, as kalypso init control-plane does")
	}
	return found, nil
}

// write writes the workflows, and prints what to do next.
func (c *initCICommand) write(root *os.Root, target scaffold.Kind, files map[string][]byte, data scaffold.Facts) error {
	done, err := writeInto(c.t, root, files, c.force, "the difference is above; --force overwrites them")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.t.Out, "%s workflows for %s:\n%s\n%s\n", c.t.OutStyle.Green("wrote"), target, done, nextOfCI(target, data))
	return err
}

// writeInto writes all files into a work tree, or none if one exists and differs: it prints the difference, and the error ends with a hint.
// It returns a line for each file.
func writeInto(t *terminal.Terminal, root *os.Root, files map[string][]byte, force bool, hint string) (string, error) {
	names := slices.Sorted(maps.Keys(files))
	differing := 0
	var done strings.Builder
	for _, name := range names {
		old, err := root.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(&done, "  %s\n", name)
		case err != nil:
			return "", err
		case bytes.Equal(old, files[name]):
			fmt.Fprintf(&done, "  %s, unchanged\n", name)
		case force:
			fmt.Fprintf(&done, "  %s, overwritten\n", name)
		default:
			differing++
			fmt.Fprint(t.Out, terminal.PrintableText(udiff.Unified(name, name+" (new)", string(old), string(files[name]))))
		}
	}
	if differing > 0 {
		return "", cli.Failed(fmt.Errorf("%d of %d files exist and differ; nothing was written", differing, len(names)), hint)
	}
	for _, name := range names {
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return "", err
		}
		if err := root.WriteFile(name, files[name], 0o644); err != nil {
			return "", err
		}
	}
	return done.String(), nil
}

// nextOfCI returns what the user has to do next.
func nextOfCI(target scaffold.Kind, data scaffold.Facts) string {
	next := "next: set the secrets and variables that the comments name, and commit the files"
	switch target {
	case scaffold.ControlPlane:
		return next + " to " + strings.Join(data.Branches(), ", ")
	case scaffold.Config, scaffold.GitOps:
		return next + " to the branch of every environment"
	case scaffold.App:
		next += "\nthe workflow pushes an image: the chart has to run that one"
		if len(data.Own.Missing) > 0 {
			next += "\nthe workflow runs make " + strings.Join(data.Own.Missing, ", make ") + ": add a Makefile with these targets, or replace the steps"
		}
	}
	return next
}
