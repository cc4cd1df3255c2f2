package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/sample/scaffold"
)

func newInitApp(t *terminal.Terminal) *cobra.Command {
	c := &initCommand{t: t}
	existing := &initExistingApp{t: t, chosen: map[scaffold.Form]*string{}}
	cmd := &cobra.Command{
		Use:   "app DIR",
		Short: "Create the source repository of an application, or prepare an existing one",
		Long: `Create the source repository of an application: a small program, its chart, its deployment targets and its delivery.

If DIR is new or empty, the application gets its name, and the configuration is expected next to it, in DIR-configs; create that with "kalypso init config".

If DIR is in a Git work tree and has files, they stay unchanged. The command looks for a chart, a kustomization or
plain manifests, and adds a Workload and a Delivery for them in the folder workload. It prints what it found and assumed, overwrites no
file and commits nothing. If there are several candidates, it takes the outermost one; choose another one with a flag. "{environment}" in a path
stands for each environment's name.`,
		Example: `  kalypso init app hello-world-app
  kalypso init app hello-world-app --url https://github.com/org/hello-world-app
  kalypso init app .
  kalypso init app . --kustomization 'deploy/overlays/{environment}'`,
		Args: cli.Exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if existing.flags() > 1 {
				return cli.Usage(cmd, "choose one of --chart, --kustomization and --manifests")
			}
			if at, ok := findWorkTree(args[0]); ok {
				if c.url != "" {
					return cli.Usage(cmd, "--url is for a new repository, and %q has files", args[0])
				}
				return existing.run(cmd, args[0], at)
			}
			if existing.flags() > 0 {
				return cli.Usage(cmd, "--chart, --kustomization and --manifests are for a work tree of Git that has files, and %q is none", args[0])
			}
			next := []string{
				"kalypso init config " + terminal.ShellWord(args[0]+"-configs"), "kalypso app render -e dev --source " + terminal.ShellWord(args[0]),
			}
			return c.example(cmd, args[0], "repository of an application", scaffold.ExampleApp, next)
		},
	}
	c.bind(cmd)
	existing.bind(cmd)
	return cmd
}

func newInitServices(t *terminal.Terminal) *cobra.Command {
	c := &initCommand{t: t}
	cmd := &cobra.Command{
		Use:   "services DIR",
		Short: "Create the source repository of platform services",
		Long: `Create the source repository of platform services: references to third-party charts, and where they should run.

DIR must be new or empty. The configuration is expected next to it, in DIR-configs; create that with
"kalypso init config --services".`,
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
		Short: "Create the configuration repository of an application",
		Long: `Create the configuration repository of an application: a branch for each environment, with the values of its targets.

DIR must be new or empty. Values are merged from the root of the branch down to the folder of the target; deeper folders take
precedence.`,
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
	cmd.Flags().BoolVar(&services, "services", false, "create the configuration of the example services instead")
	return cmd
}

// example creates the source repository of an example.
func (c *initCommand) example(cmd *cobra.Command, dir, what string, name scaffold.Example, next []string) error {
	if err := scaffold.CheckURL(c.url); err != nil {
		return cli.Usage(cmd, "--url: %w", err)
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("find the folder %q: %w", dir, err)
	}
	branches, err := scaffold.SourceBranches(name, c.url, filepath.Base(at))
	if err != nil {
		return err
	}
	return c.create(cmd.Context(), dir, what, branches, next)
}

// configuration creates the configuration repository of an example.
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
