package main

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// newSolution holds the commands about solution versions.
func newSolution(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "solution",
		Short: "List what merged commits rendered for an application",
		Long: `List the solution versions of an application: what merged commits of its GitOps repository rendered for an environment.

    source@commit + configuration@commit ─► pull request ─► merged commit = solution version ─► revisions of its targets

"kalypso app publish" publishes a version as an OCI artifact, and "kalypso verify" verifies it. "kalypso target" is about single targets.`,
		Example: `  kalypso solution versions -e dev`,
	})
	cmd.AddCommand(newSolutionVersions(t))
	return cmd
}
