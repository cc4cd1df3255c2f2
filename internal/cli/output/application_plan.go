package output

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// ApplicationPlan prints the plan of an application: changes of targets and objects, and findings of checks.
type ApplicationPlan struct {
	Plan *deliver.Plan
	// Findings below warnings are not printed.
	Findings []check.Finding
	Style    terminal.Style
	// Diff adds a diff of every object.
	Diff bool
}

// Write prints the plan.
func (v ApplicationPlan) Write(w io.Writer) error {
	p, s := v.Plan, v.Style
	fmt.Fprintf(w, "%s   %s %s   %s   compared with   %s\n", s.Bold(terminal.Printable(p.Environment)), terminal.Printable(p.Workload), terminal.Printable(p.To.Name()),
		terminal.Printable(p.After), terminal.Printable(p.Before))
	if p.Promotes() && p.From.Commit != "" {
		fmt.Fprintf(w, "replaces %s\n", terminal.Printable(p.From.Name()))
	}
	if err := v.targets(w); err != nil {
		return err
	}
	for i, d := range p.Drift {
		if i == 0 {
			fmt.Fprintf(w, "\n  changed by hand on the GitOps branch, will be restored:\n")
		}
		fmt.Fprintf(w, "    %s\n", terminal.Printable(d.Path))
	}
	c := p.Counts
	fmt.Fprintf(w, "\n  %d added, %d changed, %d removed, %d held, %d unchanged\n", c.Added, c.Changed, c.Removed, c.Held, c.Unchanged)
	v.pinned(w)
	v.digests(w)
	v.problems(w)
	for _, r := range p.Refusals {
		fmt.Fprintf(w, "\n  %s %s\n", s.Red("refused:"), terminal.Printable(r))
	}
	if p.Approval != "" {
		fmt.Fprintf(w, "      %s\n", s.Dim(terminal.Printable(p.Approval)))
	}
	Checks(w, s, v.Findings)
	if v.Diff {
		v.diffs(w)
	}
	return nil
}

// pinned prints the targets that do not follow their environment.
func (v ApplicationPlan) pinned(w io.Writer) {
	for i, t := range v.Plan.Pinned {
		if i == 0 {
			fmt.Fprintln(w)
		}
		if i == maxDetails {
			fmt.Fprintf(w, "  and %s; -o json lists all\n", terminal.Count(len(v.Plan.Pinned)-i, "more pinned target"))
			return
		}
		fmt.Fprintf(w, "  after this plan, %s is %s; kalypso target deploy lets it follow %s again\n", terminal.Printable(t.Name), terminal.Printable(t.What(v.Plan.Environment)), terminal.Printable(v.Plan.Environment))
	}
}

// digests prints the digests of the images.
func (v ApplicationPlan) digests(w io.Writer) {
	for i, image := range slices.Sorted(maps.Keys(v.Plan.Digests)) {
		if i == 0 {
			fmt.Fprintln(w)
		}
		if i == maxDetails {
			fmt.Fprintf(w, "  and %s; -o json lists all\n", terminal.Count(len(v.Plan.Digests)-i, "more image"))
			return
		}
		found := v.Plan.Digests[image]
		fmt.Fprintf(w, "  %s  %s\n", terminal.Printable(image), terminal.Printable(cmp.Or(found.Digest, "digest not known: "+found.Reason)))
	}
}

// targets prints a row for each target, and below it what changes.
func (v ApplicationPlan) targets(w io.Writer) error {
	if len(v.Plan.Targets) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := &terminal.Table{Indent: "  "}
	for _, c := range v.Plan.Targets {
		lines := v.details(c)
		t.Row(symbol(v.Style, c.Op), terminal.Plain(c.Name), lines[0])
		for _, line := range lines[1:] {
			t.Row(terminal.Plain(""), terminal.Plain(""), line)
		}
	}
	return t.Write(w)
}

// maxDetails bounds the lines of a target.
const maxDetails = 20

func (v ApplicationPlan) details(c deliver.TargetChange) []terminal.Cell {
	if c.Op == plan.Held {
		return []terminal.Cell{terminal.Plain("held: " + WithPosition(c.Reason.Message, c.Reason.Position))}
	}
	var lines []terminal.Cell
	for _, o := range c.Objects {
		lines = append(lines, terminal.Plain(string(o.Op)+" "+o.String()))
	}
	for _, value := range c.Values {
		lines = append(lines, terminal.Plain(fmt.Sprintf("%s  %s -> %s", value.Key, Value(value.Old), Value(value.New))))
		if from := cmp.Or(value.From.String(), value.From.Source); from != "" {
			lines = append(lines, terminal.Painted(v.Style.Dim, "  "+from))
		}
	}
	for _, text := range deliver.RestartLines(c.Restarts, c.Configs) {
		lines = append(lines, terminal.Plain(text))
	}
	for _, name := range c.Stays {
		lines = append(lines, terminal.Plain("Secret/"+name+" stays in the clusters: delete it there if it's not needed"))
	}
	if len(lines) == 0 {
		return []terminal.Cell{terminal.Painted(v.Style.Dim, "records only")}
	}
	if len(lines) > maxDetails {
		rest := len(lines) - maxDetails
		lines = append(lines[:maxDetails], terminal.Painted(v.Style.Dim, "and "+terminal.Count(rest, "more line")+"; -o json lists all"))
	}
	return lines
}

// problems prints problems, except for those that a held target already shows.
func (v ApplicationPlan) problems(w io.Writer) {
	t := &terminal.Table{Indent: "  "}
	for _, p := range v.Plan.Problems {
		held := false
		for _, c := range v.Plan.Targets {
			held = held || c.Reason != nil && *c.Reason == p
		}
		if !held {
			t.Row(SeverityCell(v.Style, p.Severity), terminal.Plain(WithPosition(Message(p), p.Position)))
		}
	}
	if len(t.Rows) > 0 {
		fmt.Fprintln(w)
		_ = t.Write(w) // the next write to w fails as well
	}
}

func (v ApplicationPlan) diffs(w io.Writer) {
	for _, c := range v.Plan.Targets {
		for _, o := range c.Objects {
			fmt.Fprintf(w, "\n%s\n", v.Style.Bold(fmt.Sprintf("%s: %s %s", terminal.Printable(c.Name), o.Op, terminal.Printable(o.String()))))
			for line := range strings.Lines(o.Diff()) {
				line = terminal.PrintableText(strings.TrimSuffix(line, "\n"))
				switch {
				case strings.HasPrefix(line, "+"):
					line = v.Style.Green(line)
				case strings.HasPrefix(line, "-"):
					line = v.Style.Red(line)
				}
				fmt.Fprintln(w, line)
			}
		}
	}
}

// Checks prints findings that warn or refuse, and how many there are of each level.
// Those with an exception are printed, too. It prints nothing if all others only inform.
func Checks(w io.Writer, s terminal.Style, findings []check.Finding) {
	if !check.Worst(findings).AtLeast(check.Warn) && !slices.ContainsFunc(findings, func(f check.Finding) bool { return f.Exception != "" }) {
		return
	}
	fmt.Fprintf(w, "\n  checks: %s\n", terminal.Printable(check.Summary(findings)))
	Findings(w, s, findings, check.Warn)
}

// Findings prints findings of at least a level.
func Findings(w io.Writer, s terminal.Style, findings []check.Finding, from check.Level) {
	for _, f := range findings {
		if f.Exception != "" {
			fmt.Fprintf(w, "  %s  %s\n      %s\n", s.Dim("excepted"), terminal.Printable(f.String()), s.Dim(terminal.Printable(f.Exception)))
			continue
		}
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
