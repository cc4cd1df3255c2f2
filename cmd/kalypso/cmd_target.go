package main

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// newTarget holds the commands about single deployment targets.
func newTarget(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "target",
		Short: "Show what was deployed to a target",
		Long: `Show what was deployed to a deployment target of an application. A revision of a target is a commit of the GitOps branch that changed
its files.`,
		Example: `  kalypso target revisions functional-test`,
	})
	cmd.AddCommand(newTargetRevisions(t))
	return cmd
}
