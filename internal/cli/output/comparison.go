package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Comparison shows how two environments differ, side by side.
func (v View) Comparison(w io.Writer, c query.Comparison) error {
	return comparisonText{v}.write(w, c)
}

type comparisonText struct{ View }

func (s comparisonText) write(w io.Writer, c query.Comparison) error {
	if err := s.sides(w, c); err != nil {
		return err
	}
	if len(c.Targets) > 0 {
		if err := s.targets(w, c); err != nil {
			return err
		}
	}
	if len(c.Assignments) > 0 {
		if err := s.assignments(w, c); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n%s and %s are the same in both\n", terminal.Count(c.Same.Targets, "target"), terminal.Count(c.Same.Assignments, "assignment"))
	return err
}

func (s comparisonText) sides(w io.Writer, c query.Comparison) error {
	style := s.style
	var t terminal.Table
	t.Row(terminal.Plain(""), terminal.Painted(style.Bold, c.A.Environment), terminal.Painted(style.Bold, c.B.Environment))
	mark := style.Yellow
	if c.SameCommit {
		mark = style.Green
	}
	t.Row(terminal.Plain("commit"), terminal.Painted(mark, cmp.Or(terminal.Short(c.A.Commit), "-")), terminal.Painted(mark, cmp.Or(terminal.Short(c.B.Commit), "-")))
	t.Row(terminal.Plain("since"), terminal.Plain(s.When(c.A.Since)), terminal.Plain(s.When(c.B.Since)))
	t.Row(terminal.Plain("GitOps"), terminal.Plain(cmp.Or(terminal.Short(c.A.GitOpsCommit), "-")), terminal.Plain(cmp.Or(terminal.Short(c.B.GitOpsCommit), "-")))
	return t.Write(w)
}

func (s comparisonText) targets(w io.Writer, c query.Comparison) error {
	style := s.style
	var t terminal.Table
	t.Row(style.Heads("WORKLOAD", "TARGET", "IN "+c.A.Environment, "IN "+c.B.Environment)...)
	for _, d := range c.Targets {
		t.Row(terminal.Plain(d.Workload), terminal.Plain(d.Target), terminal.Plain(versions(d.A)), terminal.Plain(versions(d.B)))
	}
	fmt.Fprintln(w)
	return t.Write(w)
}

// versions are those that run of a target, and the one that should when it does not.
func versions(v *query.TargetVersions) string {
	if v == nil {
		return "-"
	}
	var words []string
	wanted := v.Wanted != ""
	for _, r := range v.Running {
		text := fmt.Sprintf("%s on %d", cmp.Or(r.Version, "unknown version"), r.Reconcilers)
		if r.State != ledger.StateReady {
			text += " (" + string(r.State) + ")"
		}
		words = append(words, text)
		wanted = wanted && r.Version != v.Wanted
	}
	if wanted {
		words = append(words, v.Wanted+" wanted")
	}
	return cmp.Or(strings.Join(words, ", "), "no version known")
}

func (s comparisonText) assignments(w io.Writer, c query.Comparison) error {
	style := s.style
	var t terminal.Table
	t.Row(style.Heads("ONLY IN", "CLUSTER TYPE", "WORKLOAD", "TARGET")...)
	for _, d := range c.Assignments {
		in := c.A.Environment
		if d.In == query.InB {
			in = c.B.Environment
		}
		t.Row(terminal.Plain(in), terminal.Plain(d.ClusterType), terminal.Plain(cmp.Or(d.Workload, "-")), terminal.Plain(d.Target))
	}
	fmt.Fprintln(w)
	return t.Write(w)
}
