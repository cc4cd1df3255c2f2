package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Plan prints a plan: what is compared, which assignments change and why, and the totals.
type Plan struct {
	Plan *plan.Plan
	// Findings of at least a warning are listed, the others are counted.
	Findings []check.Finding
	Style    terminal.Style
	// Args are the flags for a follow-up command on the same input. Default: -e with the environment.
	Args string
	// Diff adds a unified diff of every file.
	Diff bool
	// Approved means that the user approved the removals.
	Approved bool
}

// Write prints the plan.
func (v Plan) Write(w io.Writer) error {
	s := v.Style
	fmt.Fprintf(w, "%s   %s   compared with   %s\n", s.Bold(terminal.Printable(v.Plan.Environment)), terminal.Printable(v.Plan.After), terminal.Printable(v.Plan.Before))
	if p := v.Plan.Promotion; p != nil {
		fmt.Fprintf(w, "promotes main to %s%s\n", terminal.Short(p.To), wasAt(p.From))
	}
	WhatIf(w, s, v.Plan.WhatIf)
	if err := v.changes(w); err != nil {
		return err
	}
	for i, line := range v.Plan.MovesText() {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "  %s\n", terminal.Printable(line))
	}
	for i, line := range v.Plan.RingsText() {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "  %s\n", terminal.Printable(line))
	}
	if text := v.Plan.NewFolders(); text != "" {
		fmt.Fprintf(w, "\n  %s\n", terminal.Printable(text))
	}
	v.drift(w)
	v.unmanaged(w)
	v.sum(w)
	v.problems(w)
	for _, r := range v.Plan.Refusals {
		if v.Approved {
			fmt.Fprintf(w, "\n  %s %s\n", s.Yellow("approved:"), terminal.Printable(r.Approved()))
			continue
		}
		fmt.Fprintf(w, "\n  %s %s\n", s.Red("refused:"), terminal.Printable(r.Message))
	}
	Checks(w, s, v.Findings)
	if v.Diff && len(v.Plan.Assignments) > 0 {
		fmt.Fprintln(w)
		return v.diffs(w)
	}
	return nil
}

// WhatIf prints the imagined changes that a plan or an explanation is for.
func WhatIf(w io.Writer, s terminal.Style, changes []string) {
	for _, change := range changes {
		fmt.Fprintf(w, "%s %s\n", s.Yellow("what if"), terminal.Printable(fleet.ReadableWhatIf(change)))
	}
	if len(changes) > 0 {
		fmt.Fprintln(w, "nothing is written")
	}
}

func wasAt(commit string) string {
	if commit == "" {
		return ""
	}
	return ", it was at " + terminal.Short(commit)
}

// drift prints files that were changed by hand.
func (v Plan) drift(w io.Writer) {
	if len(v.Plan.Drift) == 0 {
		return
	}
	fmt.Fprintf(w, "\n  changed by hand on the GitOps branch, will be restored:\n")
	for _, d := range v.Plan.Drift {
		what := ""
		if d.Deleted {
			what = "  (deleted)"
		}
		fmt.Fprintf(w, "    %s%s\n", terminal.Printable(d.Path), what)
	}
}

// unmanaged prints files that others keep in the folders that Kalypso writes.
func (v Plan) unmanaged(w io.Writer) {
	files := v.Plan.Unmanaged
	if len(files) == 0 {
		return
	}
	fmt.Fprintf(w, "\n  left to others by spec.unmanaged of the GitOpsRepo, not rendered and not checked:\n")
	for _, file := range files[:min(len(files), maxProblems)] {
		fmt.Fprintf(w, "    %s\n", terminal.Printable(file))
	}
	if n := len(files) - maxProblems; n > 0 {
		fmt.Fprintf(w, "    and %d more\n", n)
	}
}

// sum prints the totals and the deletion budget.
func (v Plan) sum(w io.Writer) {
	c, b := v.Plan.Counts, v.Plan.Budget
	fmt.Fprintf(w, "\n  %d added, %d changed, %d removed, %d held, %d unchanged", c.Added, c.Changed, c.Removed, c.Held, c.Unchanged)
	if b.Removals > 0 {
		fmt.Fprintf(w, "       %s, budget %d", terminal.Count(b.Removals, "removal"), b.Allowed)
	}
	fmt.Fprintln(w)
	var records []string
	if n := len(v.Plan.ClusterTypes); n > 0 {
		records = append(records, "README or inventory of "+terminal.Count(n, "folder"))
	}
	if n := len(v.Plan.Answers); n == 1 {
		records = append(records, "what schedulers answered for 1 policy")
	} else if n > 1 {
		records = append(records, fmt.Sprintf("what schedulers answered for %d policies", n))
	}
	if v.Plan.OnlyRecords() {
		fmt.Fprintf(w, "  no assignment changes, only %s\n", strings.Join(records, ", and "))
	}
}

// maxProblems bounds the problems that a plan prints; "kalypso validate" lists all.
const maxProblems = 20

// problems prints problems, except for notices and those that a held assignment already shows.
func (v Plan) problems(w io.Writer) {
	shown := map[fleet.Problem]bool{}
	for _, c := range v.Plan.Assignments {
		if c.Reason != nil {
			shown[*c.Reason] = true
		}
	}
	t, left := &terminal.Table{Indent: "  "}, 0
	var hints []string // of the GitOps branch, which "kalypso validate" doesn't read
	others := v.Plan.Counts.Held > 0
	for _, p := range v.Plan.Problems {
		switch {
		case p.Severity == fleet.SeverityNotice || shown[p]:
		case len(t.Rows) == maxProblems:
			left++
		default:
			t.Row(SeverityCell(v.Style, p.Severity), terminal.Plain(WithPosition(Message(p), p.Position)))
			if p.Kind != fleet.KindNotRendered {
				others = true
			} else if !slices.Contains(hints, p.Hint) {
				hints = append(hints, p.Hint)
			}
		}
	}
	if len(t.Rows) > 0 {
		fmt.Fprintln(w)
		_ = t.Write(w) // the next write to w fails as well
	}
	if left > 0 {
		fmt.Fprintf(w, "  and %s\n", terminal.Count(left, "more problem"))
	}
	for _, hint := range hints {
		fmt.Fprintf(w, "\n  %s\n", v.Style.Dim("to mend the GitOps branch: "+terminal.Printable(hint)))
	}
	if others {
		fmt.Fprintf(w, "\n  %s\n", v.Style.Dim("to see what to do, run kalypso validate "+cmp.Or(v.Args, "-e "+terminal.ShellWord(v.Plan.Environment))))
	}
}

// diffs prints unified diffs.
func (v Plan) diffs(w io.Writer) error {
	for i := range v.Plan.Assignments {
		diff, err := v.Plan.Diff(&v.Plan.Assignments[i])
		if err != nil {
			return err
		}
		for _, line := range plan.DiffLines(diff) {
			fmt.Fprintln(w, v.diffLine(line))
		}
	}
	return nil
}

func (v Plan) diffLine(line plan.DiffLine) string {
	text := terminal.PrintableText(line.Text)
	switch {
	case line.Head && !strings.HasPrefix(text, "@@"):
		return v.Style.Bold(text)
	case line.Op == plan.Added:
		return v.Style.Green(text)
	case line.Op == plan.Removed:
		return v.Style.Red(text)
	}
	return text
}
