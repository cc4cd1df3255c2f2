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
		Short: "Show a target's revisions, roll it back, uninstall it",
		Long: `Show what was deployed to a deployment target of an application, and propose what it should have. A revision of a target is a commit of the
GitOps branch that changed its files.

    rollback, uninstall ─► pull request ─► merged: the target is pinned ─► deploy ─► pull request ─► merged: it follows its environment again`,
		Example: `  kalypso target revisions functional-test
  kalypso target rollback functional-test --to 3f2a9c1`,
	})
	cmd.AddCommand(newTargetRevisions(t), newTargetDeploy(t), newTargetRollback(t), newTargetUninstall(t))
	return cmd
}
