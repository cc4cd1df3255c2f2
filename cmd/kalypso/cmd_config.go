package main

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

func newConfig(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "config",
		Short: "Set platform configuration, list missing values, and check who may edit it",
		Long: `Set values of platform configuration, and check who may edit them. The control plane's schemas declare that with the keyword editableBy.

"kalypso app config" does the same for an application's configuration.`,
		Example: `  kalypso config set -e dev west-us-config REGION="West US" --dry-run
  kalypso config check -e dev --base-ref HEAD~1 --author ada --group dba
  kalypso config owners -e dev --teams @acme/ --write .github/CODEOWNERS`,
	})
	cmd.AddCommand(newConfigCheck(t), newConfigMissing(t), newConfigOwners(t), newConfigSet(t))
	return cmd
}
