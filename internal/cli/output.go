package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Output formats. Text is for users and can change; the others are for programs.
const (
	FormatText     = "text"
	FormatJSON     = "json"
	FormatYAML     = "yaml"
	FormatMarkdown = "markdown"
	FormatSARIF    = "sarif"
	FormatGitHub   = "github"
)

// Output is the flag -o: one of the formats of a command.
type Output struct {
	Format  string
	offered []string
	results []reflect.Type
}

// Of declares the types of the command's results, whose schemas "kalypso schema" shows. [Output.Write] takes no others.
func (o *Output) Of(results ...any) *Output {
	for _, r := range results {
		o.results = append(o.results, reflect.TypeOf(r))
	}
	return o
}

// Results are the types of the results of a command that prints JSON; none for other commands.
func Results(cmd *cobra.Command) []reflect.Type {
	flag := cmd.Flags().Lookup("output")
	if flag == nil {
		return nil
	}
	o, ok := flag.Value.(*Output)
	if !ok || !slices.Contains(o.offered, FormatJSON) {
		return nil
	}
	return o.results
}

// check returns an error for a value whose type is not declared.
func (o *Output) check(value any) error {
	t := reflect.TypeOf(value)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !slices.Contains(o.results, t) {
		return fmt.Errorf("the result has the type %s, which has no schema", t)
	}
	return nil
}

// OutputFlag adds -o to a command. The first format is the default.
func OutputFlag(cmd *cobra.Command, offered ...string) *Output {
	o := &Output{Format: offered[0], offered: offered}
	cmd.Flags().VarP(o, "output", "o", "format of the result: "+o.Type())
	FlagGroup(cmd, GroupOutput, "output")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(offered, cobra.ShellCompDirectiveNoFileComp))
	return o
}

// String implements [pflag.Value].
func (o *Output) String() string { return o.Format }

// Set implements [pflag.Value].
func (o *Output) Set(value string) error {
	if !slices.Contains(o.offered, value) {
		return fmt.Errorf("want %s", o.Type())
	}
	o.Format = value
	return nil
}

// Type implements [pflag.Value]. It returns the formats.
func (o *Output) Type() string { return strings.Join(o.offered, "|") }

// Write writes a value in the chosen format. It calls text for all formats except JSON and YAML.
func (o *Output) Write(w io.Writer, value any, text func(io.Writer) error) error {
	switch o.Format {
	case FormatJSON, FormatYAML:
		if err := o.check(value); err != nil {
			return err
		}
	}
	switch o.Format {
	case FormatJSON:
		return WriteJSON(w, value)
	case FormatYAML:
		return writeYAML(w, value)
	default:
		return text(w)
	}
}

// WriteJSON writes a value as indented JSON.
func WriteJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // for readability
	return e.Encode(value)
}

func writeYAML(w io.Writer, value any) error {
	data, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
