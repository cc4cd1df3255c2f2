package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The formats that commands offer. Text is for people and may change; the others are for programs.
const (
	FormatText     = "text"
	FormatJSON     = "json"
	FormatYAML     = "yaml"
	FormatMarkdown = "markdown"
	FormatSARIF    = "sarif"
	FormatGitHub   = "github"
)

// Output is the flag -o: one of the formats that a command offers.
type Output struct {
	Format  string
	offered []string
}

// OutputFlag adds -o to a command. The first format offered is the default.
func OutputFlag(cmd *cobra.Command, offered ...string) *Output {
	o := &Output{Format: offered[0], offered: offered}
	cmd.Flags().VarP(o, "output", "o", "format of the result: "+o.Type())
	// The error only says that the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(offered, cobra.ShellCompDirectiveNoFileComp))
	return o
}

// String, Set and Type make output the value of a flag.
func (o *Output) String() string { return o.Format }

// Set takes a format that is offered.
func (o *Output) Set(value string) error {
	if !slices.Contains(o.offered, value) {
		return fmt.Errorf("want %s", o.Type())
	}
	o.Format = value
	return nil
}

// Type names what can be chosen from, for the help.
func (o *Output) Type() string { return strings.Join(o.offered, "|") }

// Write shows a value in the format that was chosen.
// text is called for every format that is not about the value itself, which is JSON and YAML.
func (o *Output) Write(w io.Writer, value any, text func(io.Writer) error) error {
	switch o.Format {
	case FormatJSON:
		return WriteJSON(w, value)
	case FormatYAML:
		return writeYAML(w, value)
	default:
		return text(w)
	}
}

// WriteJSON writes a value for programs, on several lines, as people read it, too.
func WriteJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	// Nobody puts this into a web page, and people do read it.
	e.SetEscapeHTML(false)
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
