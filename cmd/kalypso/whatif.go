package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// whatIfHelp lists the imagined changes for the help of commands.
const whatIfHelp = `    clusterType:NAME=absent               also target, policy and cluster
    label:clusterType/NAME/KEY=VALUE      also target and cluster; without a value, the label is absent
    capacity:CLUSTERTYPE/RESOURCE=VALUE   without a value, there is no limit
    taint:CLUSTERTYPE/KEY=EFFECT          without an effect, the taint is absent
    value:CONFIGMAP/KEY=VALUE             %20 for a space; without a value, the key is absent`

// whatIfFlag is the value of --what-if.
type whatIfFlag []fleet.WhatIf

func (f *whatIfFlag) bind(cmd *cobra.Command) {
	cmd.Flags().Var(f, "what-if", "imagine a `change` such as clusterType:large=absent; may be repeated")
	completeFlag(cmd, "what-if", cobra.FixedCompletions([]cobra.Completion{
		"clusterType:", "target:", "policy:", "cluster:", "label:", "capacity:", "taint:", "value:",
	}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
}

// String shows what was given.
func (f *whatIfFlag) String() string {
	var all []string
	for _, change := range *f {
		all = append(all, change.String())
	}
	return strings.Join(all, ",")
}

// Set adds one change.
func (f *whatIfFlag) Set(text string) error {
	change, err := fleet.ParseWhatIf(text)
	if err != nil {
		return err
	}
	*f = append(*f, change)
	return nil
}

// Type names the value in the help.
func (f *whatIfFlag) Type() string { return "change" }
