package main

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

func newAppConfig(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "config",
		Short: "Set an application's configuration, list missing values, and check who may edit it",
		Long: `Set values in an application's configuration, and check who may edit them. The keyword editableBy in its schemas declares that: in the Delivery's
schema, and in the values.schema.json of a chart in the source.`,
		Example: `  kalypso app config set -e dev --target functional-test replicas=2 --dry-run
  kalypso app config check -e dev --base HEAD~1 --author ada --group dba
  kalypso app config owners -e dev --teams @acme/ --write .github/CODEOWNERS`,
	})
	cmd.AddCommand(newAppConfigCheck(t), newAppConfigMissing(t), newAppConfigOwners(t), newAppConfigSet(t))
	return cmd
}

// appConfigCheckCommand is "kalypso app config check".
type appConfigCheckCommand struct {
	t      *terminal.Terminal
	app    appFlags
	author authorFlags
	output *cli.Output
	edit   deliver.EditRequest
}

func newAppConfigCheck(t *terminal.Terminal) *cobra.Command {
	c := &appConfigCheckCommand{t: t}
	cmd := &cobra.Command{
		Use:   "check -e ENVIRONMENT --base REVISION",
		Short: "Check that the author of a change may edit the values in it",
		Long: `Check that the author of a change to the configuration may edit its values. The schemas declare this with editableBy.

--base and --head are revisions of the configuration. --base is the state before the change. --head is the change, by default the head of
the environment's branch. If the configuration is a plain folder, the folder is the change.

It exits with 3 if the author may not edit a value, and names the value, its line, and who may edit it.`,
		Example: `  kalypso app config check -e dev --base HEAD~1 --author ada --group dba
  kalypso app config check -e dev --source https://github.com/acme/shop --config . --base "$BASE" --head "$HEAD" --author "$LOGIN" --people people.yaml`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.author.bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML, cli.FormatSARIF, cli.FormatGitHub).Of(editReport{})
	cmd.Flags().StringVar(&c.edit.Base, "base", "", "the `revision` of the configuration that the change is compared with")
	cmd.Flags().StringVar(&c.edit.Head, "head", "", "the `revision` of the configuration with the change (default: the head of the environment's branch)")
	return cmd
}

func (c *appConfigCheckCommand) run(cmd *cobra.Command) error {
	if err := c.app.wantEnvironment(cmd); err != nil {
		return err
	}
	if c.edit.Base == "" {
		return cli.Usage(cmd, "what is the change compared with? name a revision, as in --base HEAD~1")
	}
	author, err := c.author.read(cmd)
	if err != nil {
		return err
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	c.edit.Request, c.edit.Environment = s.request, c.app.environment
	problems, err := s.drafter.Loader.CheckEdits(cmd.Context(), author, c.edit)
	if err != nil {
		return err
	}
	s.progress.End()
	return showEdits(c.t, c.output, &editReport{Environment: c.app.environment, Author: c.author.author, Problems: problems})
}

// appConfigOwnersCommand is "kalypso app config owners".
type appConfigOwnersCommand struct {
	t      *terminal.Terminal
	app    appFlags
	owners ownersFlags
}

func newAppConfigOwners(t *terminal.Terminal) *cobra.Command {
	c := &appConfigOwnersCommand{t: t}
	cmd := &cobra.Command{
		Use:   "owners -e ENVIRONMENT",
		Short: "Write the CODEOWNERS file that follows from editableBy",
		Long: `Write the CODEOWNERS file of the configuration that follows from editableBy.

` + ownersHelp,
		Example: `  kalypso app config owners -e dev --teams @acme/
  kalypso app config owners -e dev --teams @acme/ --check .github/CODEOWNERS`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.owners.bind(cmd)
	return cmd
}

func (c *appConfigOwnersCommand) run(cmd *cobra.Command) error {
	if err := c.app.wantEnvironment(cmd); err != nil {
		return err
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	files, err := s.drafter.Loader.Owners(cmd.Context(), deliver.EditRequest{Request: s.request, Environment: c.app.environment})
	if err != nil {
		return err
	}
	s.progress.End()
	return c.owners.run(cmd, c.t, files)
}
