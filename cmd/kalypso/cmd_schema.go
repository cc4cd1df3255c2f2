package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// withoutJSON says why a command, or each command of a group, has no -o json.
func withoutJSON() map[string]string {
	const runs = "runs until it is ended; its log is JSON"
	return map[string]string{
		"agent": runs, "serve": runs, "operator": "says how another program is run", "mcp": "speaks the Model Context Protocol, which is JSON",
		"init": "writes files for people to edit", "sample": "the tutorial, for people",
		"config owners": "prints the file CODEOWNERS", "app config owners": "prints the file CODEOWNERS",
		"placements": "prints PlacementDecisions, which are documents of Kubernetes", "cluster report": "writes signed JSON lines",
		"ledger backup": "prints nothing", "ledger accept": "prints nothing", "ledger export": "writes JSON lines",
		"schema": "prints JSON Schema", "help": "prints text for people", "completion": "prints a script for a shell",
		"docs": "writes pages for people", "man": "writes pages for people",
	}
}

func newSchema(t *terminal.Terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [COMMAND...]",
		Short: "Show the JSON Schema of what a command prints with -o json",
		Long: `Show the JSON Schema of what a command prints with -o json, or without a command list all commands and why some have no -o json.

The schemas have one version for all commands. It changes if a field is removed or gets another meaning; fields can be added without that,
so they allow more fields than they name.`,
		Example: `  kalypso schema
  kalypso schema plan
  kalypso schema cluster list > cluster-list.schema.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listSchemas(t.Out, cmd.Root())
			}
			return writeSchema(t.Out, cmd.Root(), args)
		},
		ValidArgsFunction: completeCommands,
	}
}

// writeSchema writes the schema of a command.
func writeSchema(w io.Writer, root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil || len(rest) > 0 {
		return cli.UnknownWord(cmd, rest[0])
	}
	text, err := schemaOf(cmd)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

// schemaOf returns the schema of the results of a command.
func schemaOf(cmd *cobra.Command) ([]byte, error) {
	results := cli.Results(cmd)
	if len(results) == 0 {
		return nil, cli.Failed(fmt.Errorf("%s has no -o json", cmd.CommandPath()), "kalypso schema lists the commands that have")
	}
	return api.JSONSchema(fmt.Sprintf("%s -o json, version %d", cmd.CommandPath(), schedule.OutputVersion), results...)
}

// listSchemas lists the commands.
func listSchemas(w io.Writer, root *cobra.Command) error {
	var table terminal.Table
	eachCommand(root, func(cmd *cobra.Command, path string) {
		what := "has -o json"
		if len(cli.Results(cmd)) == 0 {
			what = reasonWithoutJSON(path)
		}
		table.Row(terminal.Plain("kalypso "+path), terminal.Plain(what))
	})
	return table.Write(w)
}

// eachCommand calls visit for the commands that users can run, with their path below the root. Groups that only have subcommands are left out.
func eachCommand(cmd *cobra.Command, visit func(cmd *cobra.Command, path string)) {
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		_, path, _ := strings.Cut(sub.CommandPath(), " ")
		if !sub.HasAvailableSubCommands() || len(cli.Results(sub)) > 0 {
			visit(sub, path)
		}
		eachCommand(sub, visit)
	}
}

// reasonWithoutJSON says why a command has no -o json: its own reason, or that of its group; empty if it has none.
func reasonWithoutJSON(path string) string {
	group, _, _ := strings.Cut(path, " ")
	if reason := withoutJSON()[path]; reason != "" {
		return reason
	}
	return withoutJSON()[group]
}

// completeCommands completes the words of a command.
func completeCommands(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	at, _, err := cmd.Root().Find(args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, sub := range at.Commands() {
		if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), word) {
			names = append(names, sub.Name())
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
