package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Comparison prints how two environments differ, side by side.
func (v Printer) Comparison(w io.Writer, c query.Comparison) error {
	if err := errors.Join(v.sides(w, c), v.differentTargets(w, c), v.differentAssignments(w, c)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s and %s are the same in both\n", terminal.Count(c.Same.Targets, "target"), terminal.Count(c.Same.Assignments, "assignment"))
	return err
}

func (v Printer) sides(w io.Writer, c query.Comparison) error {
	var t terminal.Table
	t.Row(terminal.Plain(""), terminal.Painted(v.style.Bold, c.A.Environment), terminal.Painted(v.style.Bold, c.B.Environment))
	mark := v.style.Yellow
	if c.SameCommit {
		mark = v.style.Green
	}
	t.Row(terminal.Plain("commit"), terminal.Painted(mark, cmp.Or(terminal.Short(c.A.Commit), "-")), terminal.Painted(mark, cmp.Or(terminal.Short(c.B.Commit), "-")))
	t.Row(terminal.Plain("state"), PhaseCell(v.style, c.A.Phase), PhaseCell(v.style, c.B.Phase))
	t.Row(terminal.Plain("since"), terminal.Plain(v.When(c.A.Since)), terminal.Plain(v.When(c.B.Since)))
	t.Row(terminal.Plain("GitOps"), terminal.Plain(cmp.Or(terminal.Short(c.A.GitOpsCommit), "-")), terminal.Plain(cmp.Or(terminal.Short(c.B.GitOpsCommit), "-")))
	return t.Write(w)
}

func (v Printer) differentTargets(w io.Writer, c query.Comparison) error {
	if len(c.Targets) == 0 {
		return nil
	}
	var t terminal.Table
	t.Row(v.style.Heads("WORKLOAD", "TARGET", "IN "+c.A.Environment, "IN "+c.B.Environment)...)
	for _, d := range c.Targets {
		name := d.Target
		if d.TargetInB != "" {
			name += ", " + d.TargetInB
		}
		t.Row(terminal.Plain(d.Workload), terminal.Plain(name), terminal.Plain(versions(d.A)), terminal.Plain(versions(d.B)))
	}
	fmt.Fprintln(w)
	return t.Write(w)
}

// versions lists the running versions of a target, and the wanted one if it does not run.
func versions(t *query.TargetVersions) string {
	if t == nil {
		return "-"
	}
	var all []string
	wanted := t.Wanted != ""
	for _, r := range t.Running {
		text := fmt.Sprintf("%s on %d", cmp.Or(r.Version, "unknown version"), r.Reconcilers)
		if r.State != ledger.StateReady {
			text += " (" + string(r.State) + ")"
		}
		all = append(all, text)
		wanted = wanted && r.Version != t.Wanted
	}
	if wanted {
		all = append(all, t.Wanted+" wanted")
	}
	return cmp.Or(strings.Join(all, ", "), "no version known")
}

func (v Printer) differentAssignments(w io.Writer, c query.Comparison) error {
	if len(c.Assignments) == 0 {
		return nil
	}
	var t terminal.Table
	t.Row(v.style.Heads("ONLY IN", "CLUSTER TYPE", "WORKLOAD", "TARGET")...)
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
