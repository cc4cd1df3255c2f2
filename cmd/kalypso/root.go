package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/terminal"
)

// newRoot builds the tree of commands. A new command is one line in it.
func newRoot(t *terminal.Terminal) *cobra.Command {
	root := newGroup(&cobra.Command{
		Use:   "kalypso",
		Short: "Schedule applications onto a fleet of Kubernetes clusters, through Git",
		Long: `Kalypso schedules applications onto a fleet of Kubernetes clusters, through Git.

Application teams say what should run, platform teams say where it may run,
and Kalypso writes a folder for each assignment, from which clusters pull:

    control plane (main + dev) ─► kalypso ─► platform GitOps repository (dev) ─► clusters`,
		Example: `  kalypso init control-plane my-control-plane
  kalypso plan -e dev --control-plane my-control-plane`,
		Version: version(),
	})
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	root.SetVersionTemplate("kalypso {{.Version}}\n")
	root.SetFlagErrorFunc(asUsage)
	root.SetHelpCommand(newHelp(root))

	root.AddCommand(
		newInit(t),
		newValidate(t),
		newPlan(t),
		newExplain(t),
		newSchedule(t),
		newServe(t),
		newSample(t),
		newStatus(t),
		newHistory(t),
		newCompare(t),
		newPromote(t),
		newApp(t),
		newWait(t),
		newCluster(t),
		newToken(t),
		newLedger(t),
		newAgent(t),
		newMan(),
		newDocs(),
	)
	// Cobra would add its completion command later, and call an unknown shell a success.
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		newGroup(completion)
	}
	return root
}

// newGroup makes cmd a command that only holds others: alone it shows its help,
// and an unknown word is an error that lists what exists.
func newGroup(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownWord(cmd, args[0])
	}
	return cmd
}

func unknownWord(cmd *cobra.Command, word string) error {
	err := fmt.Errorf("%s has no command %q", cmd.CommandPath(), word)
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return &failure{exitUsage, err, fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), near[0])}
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return &failure{exitUsage, err, "there is: " + strings.Join(names, ", ")}
}

// newHelp replaces cobra's help command, which calls an unknown topic a success.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Example: "  kalypso help init control-plane",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownWord(cmd, rest[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// exactly wants the named arguments, no fewer and no more.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage(cmd, "%s is missing", strings.Join(names[len(args):], " "))
		case len(args) > len(names):
			return usage(cmd, "unexpected argument %q", args[len(names)])
		}
		for i, name := range names {
			if args[i] == "" { // a variable of a script that is not set
				return usage(cmd, "%s is empty", name)
			}
		}
		return nil
	}
}

// atMost wants no more than the named arguments, and none that is empty.
func atMost(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return exactly(names[:min(len(args), len(names))]...)(cmd, args)
	}
}
