package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/sample/scaffold"
)

func newInitApp(t *terminal.Terminal) *cobra.Command {
	c := &initCommand{t: t}
	cmd := &cobra.Command{
		Use:   "app DIR",
		Short: "Write the source of an application: a chart, its targets, and how commits get to them",
		Long: `Write the source of an application: a small program, its chart, its deployment targets, and how commits get to them.

DIR becomes a Git repository. It must be new, or an empty folder.
The configuration is expected beside it, in DIR-configs; "kalypso init config" writes that.`,
		Example: `  kalypso init app hello-world-app
  kalypso init app hello-world-app --url https://github.com/org/hello-world-app`,
		Args: cli.Exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			next := []string{
				"kalypso init config " + terminal.ShellWord(args[0]+"-configs"), "kalypso app render -e dev --source " + terminal.ShellWord(args[0]),
			}
			return c.example(cmd, args[0], "repository of an application", scaffold.ExampleApp, next)
		},
	}
	c.bind(cmd)
	return cmd
}

func newInitServices(t *terminal.Terminal) *cobra.Command {
	c := &initCommand{t: t}
	cmd := &cobra.Command{
		Use:   "services DIR",
		Short: "Write the source of platform services: pointers to charts of others",
		Long: `Write the source of platform services: pointers to charts of others, and where they should run.

DIR becomes a Git repository. It must be new, or an empty folder.
The configuration is expected beside it, in DIR-configs; "kalypso init config --services" writes that.`,
		Example: `  kalypso init services platform-services`,
		Args:    cli.Exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			next := []string{
				"kalypso init config --services " + terminal.ShellWord(args[0]+"-configs"), "kalypso app render -e dev --source " + terminal.ShellWord(args[0]),
			}
			return c.example(cmd, args[0], "services repository", scaffold.ExampleServices, next)
		},
	}
	c.bind(cmd)
	return cmd
}

func newInitConfig(t *terminal.Terminal) *cobra.Command {
	c := &initCommand{t: t}
	services := false
	cmd := &cobra.Command{
		Use:   "config DIR",
		Short: "Write the configuration of an application: the branches dev and stage",
		Long: `Write the configuration of an application: a branch for each environment, with the values of its targets.

DIR becomes a Git repository. It must be new, or an empty folder.
Values are laid over each other from the root of the branch down to the folder of a target.`,
		Example: `  kalypso init config hello-world-app-configs
  kalypso init config --services platform-services-configs`,
		Args: cli.Exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			example := scaffold.ExampleApp
			if services {
				example = scaffold.ExampleServices
			}
			return c.configuration(cmd, args[0], example)
		},
	}
	c.bind(cmd)
	cmd.Flags().BoolVar(&services, "services", false, "the configuration of the example services instead")
	return cmd
}

// example writes the source of an example.
func (c *initCommand) example(cmd *cobra.Command, dir, what string, name scaffold.Example, next []string) error {
	if err := scaffold.CheckURL(c.url); err != nil {
		return cli.Usage(cmd, "--url: %w", err)
	}
	branches, err := scaffold.SourceBranches(name)
	if err != nil {
		return err
	}
	return c.create(cmd.Context(), dir, what, branches, next)
}

// configuration writes the configuration of an example.
func (c *initCommand) configuration(cmd *cobra.Command, dir string, name scaffold.Example) error {
	if err := scaffold.CheckURL(c.url); err != nil {
		return cli.Usage(cmd, "--url: %w", err)
	}
	branches, err := scaffold.ConfigBranches(name)
	if err != nil {
		return err
	}
	source := strings.TrimSuffix(filepath.Clean(dir), "-configs")
	return c.create(cmd.Context(), dir, "repository with configuration", branches, []string{"kalypso app render -e dev --source " + terminal.ShellWord(source)})
}
