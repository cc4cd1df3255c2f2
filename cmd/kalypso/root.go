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
		Short: "Deploy and promote applications across fleets of Kubernetes clusters, through Git",
		Long: `Kalypso deploys and promotes applications across fleets of Kubernetes clusters, with Git as the source of truth.

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
	root.SetHelpCommand(cli.Help(root))

	addGroup(root, "Get started:", newInit(t), newSample(t), newImport(t), newDoctor(t))
	addGroup(root, "Author and preview changes:", newValidate(t), newPlan(t), newExplain(t), newConfig(t), newApp(t), newPlacements(t))
	addGroup(root, "Operate the fleet:",
		newStatus(t), newPromote(t), newWait(t), newHistory(t), newCompare(t), newTarget(t), newSolution(t), newPlatform(t), newVerify(t))
	addGroup(root, "Administer:",
		newServe(t), newSchedule(t), newCluster(t), clusteragent.New(t, "kalypso agent"), newBundle(t), newToken(t), newLedger(t), newNotify(t), newMCP(t), newOperator())
	root.AddCommand(newSchema(t), newMan(), newDocs(), cli.ExitCodesTopic())
	// Cobra adds its completion command later, and reports success for an unknown shell.
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		cli.Group(completion)
	}
	return root
}

// addGroup adds commands with a common title in the help.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
	}
	root.AddCommand(commands...)
}
