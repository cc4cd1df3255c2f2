package main

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// newApp holds the commands of application teams.
func newApp(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "app",
		Short: "Deliver an application: from a commit of its source to every environment",
		Long: `Deliver an application: from a commit of its source to every environment.

    source (chart, Workload) + configuration (values of each target) ─► manifests ─► pull request ─► clusters ─► next environment

Everything works in any CI job without a server; "kalypso serve" does the same for registered applications.
A Delivery beside the Workload says what differs from the usual layout: docs/reference/app.md.`,
		Example: `  kalypso app plan -e dev --source . --diff
  kalypso app deploy --commit $GITHUB_SHA --version 1.4.0 --image-tag 1.4.0
  kalypso app promote --to stage --ledger postgres://kalypso@db/kalypso`,
	})
	cmd.AddCommand(
		newAppRender(t), newAppPlan(t), newAppExplain(t), newAppSecrets(t), newAppCheck(t), newAppConfig(t),
		newAppDeploy(t), newAppPromote(t), newAppPublish(t), newAppStatus(t), newAppUpdate(t),
	)
	return cmd
}
