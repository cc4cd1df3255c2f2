package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of flags in the help, in their order. A flag without a group is the command's own.
const (
	GroupControlPlane = "Control plane"
	GroupApplication  = "Application"
	GroupBuild        = "Build"
	GroupServer       = "Server and ledger"
	GroupScheduler    = "External scheduler"
	GroupForge        = "Forge"
	GroupOutput       = "Output"
)

func groupOrder() []string {
	return []string{"", GroupApplication, GroupBuild, GroupControlPlane, GroupServer, GroupScheduler, GroupForge, GroupOutput}
}

// annotationGroup is the annotation of a flag with its group.
const annotationGroup = "kalypso/group"

// FlagGroup puts flags of a command into a group of its help. Names that the command does not have are left out.
func FlagGroup(cmd *cobra.Command, group string, names ...string) {
	for _, name := range names {
		_ = cmd.Flags().SetAnnotation(name, annotationGroup, []string{group}) // the error only says that the flag does not exist
	}
}

// FlagsByGroup describes flags, each group with its title, as the help of a command does.
func FlagsByGroup(flags *pflag.FlagSet) string {
	groups := map[string]*pflag.FlagSet{}
	flags.VisitAll(func(f *pflag.Flag) {
		group := ""
		if of := f.Annotations[annotationGroup]; len(of) == 1 && slices.Contains(groupOrder(), of[0]) {
			group = of[0]
		}
		if groups[group] == nil {
			groups[group] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		groups[group].AddFlag(f)
	})
	var b strings.Builder
	for _, group := range groupOrder() {
		if groups[group] == nil || !groups[group].HasAvailableFlags() {
			continue
		}
		title := group + " flags"
		if group == "" {
			title = "Flags"
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s:\n%s", title, groups[group].FlagUsages())
	}
	return b.String()
}

// usage prints how a command is called: as cobra does, with the flags in groups.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		b.WriteString("  " + cmd.UseLine() + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " [command]\n")
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	subcommands := func(title string, wanted func(*cobra.Command) bool) {
		for _, sub := range cmd.Commands() {
			if wanted(sub) {
				b.WriteString(title)
				title = ""
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	available := func(group string) func(*cobra.Command) bool {
		return func(sub *cobra.Command) bool {
			return sub.GroupID == group && (sub.IsAvailableCommand() || sub.Name() == "help")
		}
	}
	rest := "Available Commands:"
	for _, group := range cmd.Groups() {
		subcommands("\n"+group.Title+"\n", available(group.ID))
		rest = "Other commands:"
	}
	subcommands("\n"+rest+"\n", available(""))
	if cmd.HasAvailableLocalFlags() {
		b.WriteString("\n" + FlagsByGroup(cmd.LocalFlags()))
	}
	if cmd.HasAvailableInheritedFlags() {
		b.WriteString("\nGlobal flags:\n" + cmd.InheritedFlags().FlagUsages())
	}
	subcommands("\nHelp topics:\n", (*cobra.Command).IsAdditionalHelpTopicCommand)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}
