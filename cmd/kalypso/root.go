package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/clusteragent"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// newRoot builds the tree of commands.
func newRoot(t *terminal.Terminal) *cobra.Command {
	root := cli.Group(&cobra.Command{
		Use:   "kalypso",
		Short: "Schedule applications onto a fleet of Kubernetes clusters, through Git",
		Long: `Kalypso schedules applications onto a fleet of Kubernetes clusters, through Git.

Application teams declare what should run, platform teams declare where it may run.
Kalypso matches the two and writes a folder of manifests for each assignment, from which clusters pull:

    control plane (main + dev) ─► kalypso ─► platform GitOps repository (dev) ─► clusters

Exit codes:

` + strings.TrimRight(cli.ExitCodesText(), "\n"),
		Example: `  kalypso init control-plane my-control-plane
  kalypso plan -e dev --control-plane my-control-plane`,
		Version: cli.Version(),
	})
	cli.Prepare(root, t)
	root.SetVersionTemplate("kalypso {{.Version}}\n")
	root.SetHelpCommand(cli.Help(root))

	root.AddCommand(
		newInit(t),
		newValidate(t),
		newPlan(t),
		newExplain(t),
		newPlacements(t),
		newSchedule(t),
		newBundle(t),
		newServe(t),
		newSample(t),
		newStatus(t),
		newHistory(t),
		newCompare(t),
		newConfig(t),
		newImport(t),
		newPromote(t),
		newApp(t),
		newPlatform(t),
		newSolution(t),
		newTarget(t),
		newVerify(t),
		newWait(t),
		newCluster(t),
		newToken(t),
		newNotify(t),
		newMCP(t),
		newSchema(t),
		newLedger(t),
		clusteragent.New(t, "kalypso agent"),
		newOperator(),
		newMan(),
		newDocs(),
		cli.ExitCodesTopic(),
	)
	// Cobra adds its completion command later, and reports success for an unknown shell.
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		cli.Group(completion)
	}
	completeNoFiles(root)
	return root
}
