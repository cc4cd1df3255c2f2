package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// appExplainCommand is "kalypso app explain".
type appExplainCommand struct {
	t      *terminal.Terminal
	app    appFlags
	output *cli.Output
}

// explainedTarget is a target with the values that it is rendered with.
type explainedTarget struct {
	Environment string       `json:"environment"`
	Target      string       `json:"target"`
	Values      []values.Key `json:"values"`
	// Problems are those of the target.
	Problems []fleet.Problem `json:"problems,omitempty"`
}

func newAppExplain(t *terminal.Terminal) *cobra.Command {
	c := &appExplainCommand{t: t}
	cmd := &cobra.Command{
		Use:   "explain -e ENVIRONMENT TARGET [VALUE]",
		Short: "Show where a target's values come from",
		Long: `Show where a target's values come from: each value's file and line, and the values that it overrides.

VALUE limits the answer to a value and the values below it, such as image or image.tag.
Values that no configuration sets come from the chart, and are not listed.`,
		Example: `  kalypso app explain -e dev functional-test
  kalypso app explain -e dev functional-test image.tag --image-tag 1.4.0`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return cli.Exactly("TARGET")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.app.bindBuild(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(explainedTarget{})
	return cmd
}

func (c *appExplainCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.app.wantEnvironment(cmd); err != nil {
		return err
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	draft, err := s.drafter.Draft(cmd.Context(), deliver.DraftRequest{Request: s.request, Environment: c.app.environment, Build: c.app.build, Unpublished: true})
	if err != nil {
		return err
	}
	s.progress.End()
	target := draft.App.ShortTarget(args[0])
	e := &explainedTarget{Environment: c.app.environment, Target: target, Values: []values.Key{}}
	keys, known := draft.Values(target)
	for _, p := range draft.Plan.Problems {
		if p.Assignment == target {
			e.Problems = append(e.Problems, p)
		}
	}
	if !known && len(e.Problems) == 0 {
		return fmt.Errorf("the workload %q has no target %q in %s", draft.App.Workload.Name, args[0], c.app.environment)
	}
	for _, k := range keys {
		if len(args) == 1 || k.Path == args[1] || strings.HasPrefix(k.Path, args[1]+".") {
			e.Values = append(e.Values, redacted(k))
		}
	}
	if err := c.output.Write(c.t.Out, e, func(w io.Writer) error { return c.show(w, e) }); err != nil {
		return err
	}
	showProblems(c.t, e.Problems)
	if !known {
		return cli.AnswerNo()
	}
	return nil
}

// redacted returns a value without what looks like a credential.
func redacted(k values.Key) values.Key {
	k.Expression = check.RedactValue(k.Path, k.Expression)
	k.Value, k.Written, k.Over = check.RedactValue(k.Path, k.Value), check.RedactValue(k.Path, k.Written), slices.Clone(k.Over)
	for i, over := range k.Over {
		k.Over[i].Value = check.RedactValue(k.Path, over.Value)
	}
	return k
}

func (c *appExplainCommand) show(w io.Writer, e *explainedTarget) error {
	s := c.t.OutStyle
	fmt.Fprintf(w, "%s in %s\n\n", s.Bold(terminal.Printable(e.Target)), terminal.Printable(e.Environment))
	if len(e.Values) == 0 {
		fmt.Fprintln(w, "  not set in any source: the chart's default")
		return nil
	}
	for _, k := range e.Values {
		fmt.Fprintf(w, "  %s = %s\n", terminal.Printable(k.Path), terminal.Printable(k.Value))
		if k.Written != "" && k.Written != k.Value {
			fmt.Fprintf(w, "      %s\n", s.Dim("written as "+terminal.Printable(k.Written)))
		}
		fmt.Fprintf(w, "      %s\n", s.Dim(terminal.Printable(valuePlace(k.From))))
		if k.Expression != "" {
			fmt.Fprintf(w, "      %s\n", s.Dim("computed by "+output.Value(&k.Expression)))
		}
		if len(k.Reads) > 0 {
			fmt.Fprintf(w, "      %s\n", s.Dim("from "+terminal.Printable(strings.Join(k.Reads, ", "))))
		}
		for _, over := range k.Over {
			fmt.Fprintf(w, "      %s\n", s.Dim(terminal.Printable(fmt.Sprintf("over %s: %s", valuePlace(over.From), over.Value))))
		}
	}
	return nil
}

// valuePlace is where a value is written: a file, or the flag that sets it.
func valuePlace(p fleet.Position) string { return cmp.Or(p.String(), p.Source) }
