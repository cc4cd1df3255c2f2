package main

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

func newConfig(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "config",
		Short: "Check who may edit platform configuration",
		Long: `Check who may edit platform configuration. The schemas of a control plane say it, with the keyword editableBy.

"kalypso app config" does the same for the configuration of an application.`,
		Example: `  kalypso config check -e dev --base-ref HEAD~1 --author ada --group dba
  kalypso config owners -e dev --teams @acme/ --write .github/CODEOWNERS`,
	})
	cmd.AddCommand(newConfigCheck(t), newConfigOwners(t))
	return cmd
}
