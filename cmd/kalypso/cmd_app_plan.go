package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/answer"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/delivery"
	"github.com/kalypso-io/kalypso/internal/terminal"
)

// appPlanCommand is "kalypso app plan".
type appPlanCommand struct {
	t        *terminal.Terminal
	app      appFlags
	output   *output
	diff     bool
	exitCode bool
}

// appPlan is the result of the command.
type appPlan struct {
	*delivery.Plan
	Findings []check.Finding `json:"findings,omitempty"`
}

func newAppPlan(t *terminal.Terminal) *cobra.Command {
	c := &appPlanCommand{t: t}
	cmd := &cobra.Command{
		Use:   "plan -e ENVIRONMENT",
		Short: "Show what a commit changes in an environment",
		Long: `Show what a commit changes in an environment: which targets, objects and values, and what the checks say.

    source@commit + configuration  ◄── compared with ──►  GitOps branch of the environment

It is what a pull request would show; nothing is written.`,
		Example: `  kalypso app plan -e dev
  kalypso app plan -e stage --commit 3f2a9c1 --version 1.4.0 --image-tag 1.4.0 --diff
  kalypso app plan -e dev -o markdown`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.app.bindBuild(cmd)
	c.output = outputFlag(cmd, formatText, formatJSON, formatYAML, formatMarkdown)
	cmd.Flags().BoolVar(&c.diff, "diff", false, "show the unified difference of every object")
	cmd.Flags().BoolVar(&c.exitCode, "exit-code", false, "exit with 3 when there are changes")
	return cmd
}

func (c *appPlanCommand) run(cmd *cobra.Command) error {
	if err := c.app.wantEnvironment(cmd); err != nil {
		return err
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	draft, err := s.drafter.Draft(cmd.Context(), delivery.Wish{Request: s.request, Environment: c.app.environment, Build: c.app.build})
	if err != nil {
		return err
	}
	s.progress.End()
	err = c.output.write(c.t.Out, appPlan{draft.Plan, draft.Findings}, func(w io.Writer) error {
		if c.output.format == formatMarkdown {
			_, err := io.WriteString(w, draft.Markdown(delivery.MarkdownOptions{}))
			return err
		}
		return appPlanText{draft.Plan, draft.Findings, c.t.OutStyle, c.diff}.write(w)
	})
	if err != nil {
		return err
	}
	if c.exitCode && (draft.Plan.Files > 0 || draft.Plan.Counts.Held > 0) {
		return answerNo()
	}
	return nil
}

// appPlanText shows a plan to a person.
type appPlanText struct {
	plan     *delivery.Plan
	findings []check.Finding
	style    terminal.Style
	diff     bool
}

func (v appPlanText) write(w io.Writer) error {
	p, s := v.plan, v.style
	fmt.Fprintf(w, "%s   %s %s   %s   compared with   %s\n", s.Bold(terminal.Printable(p.Environment)), terminal.Printable(p.Workload), terminal.Printable(p.To.Name()),
		terminal.Printable(p.After), terminal.Printable(p.Before))
	if p.Promotes() && p.From.Commit != "" {
		fmt.Fprintf(w, "takes the place of %s\n", terminal.Printable(p.From.Name()))
	}
	if err := v.targets(w); err != nil {
		return err
	}
	for i, d := range p.Drift {
		if i == 0 {
			fmt.Fprintf(w, "\n  changed by hand on the GitOps branch, and restored:\n")
		}
		fmt.Fprintf(w, "    %s\n", terminal.Printable(d.Path))
	}
	c := p.Counts
	fmt.Fprintf(w, "\n  %d added, %d changed, %d removed, %d held, %d unchanged\n", c.Added, c.Changed, c.Removed, c.Held, c.Unchanged)
	v.problems(w)
	for _, r := range p.Refusals {
		fmt.Fprintf(w, "\n  %s %s\n", s.Red("refused:"), terminal.Printable(r))
	}
	if len(v.findings) > 0 {
		fmt.Fprintf(w, "\n  checks: %s\n", terminal.Printable(check.Summary(v.findings)))
		writeFindings(w, s, v.findings, check.Warn)
	}
	if v.diff {
		v.diffs(w)
	}
	return nil
}

// targets shows a row for each, and below it what changes.
func (v appPlanText) targets(w io.Writer) error {
	if len(v.plan.Targets) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := &terminal.Table{Indent: "  "}
	for _, c := range v.plan.Targets {
		lines := v.details(c)
		t.Row(v.symbol(c.Op), terminal.Plain(c.Name), lines[0])
		for _, line := range lines[1:] {
			t.Row(terminal.Plain(""), terminal.Plain(""), line)
		}
	}
	return t.Write(w)
}

func (v appPlanText) symbol(op delivery.Op) terminal.Cell {
	switch op {
	case delivery.Added:
		return terminal.Painted(v.style.Green, "+")
	case delivery.Removed:
		return terminal.Painted(v.style.Red, "-")
	case delivery.Held:
		return terminal.Painted(v.style.Yellow, "!")
	default:
		return terminal.Painted(v.style.Yellow, "~")
	}
}

// maxDetails is how many lines are shown of one target.
const maxDetails = 20

func (v appPlanText) details(c delivery.TargetChange) []terminal.Cell {
	if c.Op == delivery.Held {
		return []terminal.Cell{terminal.Plain("held: " + answer.Placed(c.Reason.Message, c.Reason.Position))}
	}
	var lines []terminal.Cell
	for _, o := range c.Objects {
		lines = append(lines, terminal.Plain(string(o.Op)+" "+o.String()))
	}
	for _, value := range c.Values {
		lines = append(lines, terminal.Plain(fmt.Sprintf("%s  %s -> %s", value.Path, valueText(value.Old), valueText(value.New))))
		if from := cmp.Or(value.From.String(), value.From.Source); from != "" {
			lines = append(lines, terminal.Painted(v.style.Dim, "  "+from))
		}
	}
	if len(lines) == 0 {
		return []terminal.Cell{terminal.Painted(v.style.Dim, "records only")}
	}
	if len(lines) > maxDetails {
		rest := len(lines) - maxDetails
		lines = append(lines[:maxDetails], terminal.Painted(v.style.Dim, "and "+terminal.Count(rest, "more line")+"; -o json lists all"))
	}
	return lines
}

func valueText(v *string) string {
	if v == nil {
		return "(not set)"
	}
	return *v
}

// problems shows what has to be mended, but not what a held target said already, and no notices.
func (v appPlanText) problems(w io.Writer) {
	t := &terminal.Table{Indent: "  "}
	for _, p := range v.plan.Problems {
		held := false
		for _, c := range v.plan.Targets {
			held = held || c.Reason != nil && *c.Reason == p
		}
		if !held {
			t.Row(answer.SeverityCell(v.style, p.Severity), terminal.Plain(answer.Placed(answer.Sentence(p), p.Position)))
		}
	}
	if len(t.Rows) > 0 {
		fmt.Fprintln(w)
		_ = t.Write(w) // the writer is the one that shows everything else; it fails there as well
	}
}

func (v appPlanText) diffs(w io.Writer) {
	for _, c := range v.plan.Targets {
		for _, o := range c.Objects {
			fmt.Fprintf(w, "\n%s\n", v.style.Bold(fmt.Sprintf("%s: %s %s", terminal.Printable(c.Name), o.Op, terminal.Printable(o.String()))))
			for line := range strings.Lines(o.Diff()) {
				line = terminal.PrintableText(strings.TrimSuffix(line, "\n"))
				switch {
				case strings.HasPrefix(line, "+"):
					line = v.style.Green(line)
				case strings.HasPrefix(line, "-"):
					line = v.style.Red(line)
				}
				fmt.Fprintln(w, line)
			}
		}
	}
}

// writeFindings lists findings from a level on.
func writeFindings(w io.Writer, s terminal.Style, findings []check.Finding, from check.Level) {
	for _, f := range findings {
		if !f.Level.AtLeast(from) {
			continue
		}
		paint := s.Dim
		switch f.Level {
		case check.Refuse:
			paint = s.Red
		case check.Warn:
			paint = s.Yellow
		}
		fmt.Fprintf(w, "  %s  %s\n", paint(string(f.Level)), terminal.Printable(f.String()))
		if f.Hint != "" {
			fmt.Fprintf(w, "      %s\n", s.Dim(terminal.Printable(f.Hint)))
		}
	}
}
