package main

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

func newCluster(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "cluster",
		Short: "Register, import, list, show and revoke clusters",
		Long: `Register, list, show and revoke clusters.

A registered cluster is expected to run the commits of its environments, and can report its state:

    register ─► credential ─► kalypso-agent in the cluster ─► reports ─► kalypso status
             └► key        ─► kalypso cluster report, without a connection ─► kalypso ledger import

Kalypso does not create clusters.`,
		Example: `  kalypso cluster register large-07 --member dev/large --credential large-07.token
  kalypso cluster list`,
	})
	cmd.AddCommand(
		newClusterRegister(t), newClusterList(t), newClusterShow(t), newClusterRotate(t), newClusterRevoke(t), newClusterReport(t), newClusterImport(t),
	)
	return cmd
}
