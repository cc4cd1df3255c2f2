package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Comparison prints how two environments differ, side by side.
func (v Printer) Comparison(w io.Writer, c query.Comparison) error {
	err := errors.Join(v.sides(w, c), v.differentTargets(w, c), v.differentAssignments(w, c), v.differentValues(w, c), v.between(w, c))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n%s and %s are the same in both\n", terminal.Count(c.Same.Targets, "target"), terminal.Count(c.Same.Assignments, "assignment"))
	return err
}

// heads are what the columns of both sides are called: the environments, or the times of one environment.
func (v Printer) heads(c query.Comparison) (a, b string) {
	if c.A.Environment != c.B.Environment {
		return c.A.Environment, c.B.Environment
	}
	return v.asOf(c.A), v.asOf(c.B)
}

func (v Printer) asOf(s query.Side) string {
	if s.AsOf.IsZero() {
		return "now"
	}
	return v.When(s.AsOf)
}

func (v Printer) sides(w io.Writer, c query.Comparison) error {
	var t terminal.Table
	t.Row(terminal.Plain(""), terminal.Painted(v.style.Bold, c.A.Environment), terminal.Painted(v.style.Bold, c.B.Environment))
	if !c.A.AsOf.IsZero() || !c.B.AsOf.IsZero() {
		t.Row(terminal.Plain("as of"), terminal.Plain(v.asOf(c.A)), terminal.Plain(v.asOf(c.B)))
	}
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
	a, b := v.heads(c)
	t.Row(v.style.Heads("WORKLOAD", "TARGET", "IN "+a, "IN "+b)...)
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
	if t.Pin != nil && t.Pin.Uninstalled {
		return t.Pin.What("")
	}
	var all []string
	if t.Pin != nil {
		all = append(all, t.Pin.What(""))
	}
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
	a, b := v.heads(c)
	for _, d := range c.Assignments {
		in := a
		if d.In == query.InB {
			in = b
		}
		t.Row(terminal.Plain(in), terminal.Plain(d.ClusterType), terminal.Plain(cmp.Or(d.Workload, "-")), terminal.Plain(d.Target))
	}
	fmt.Fprintln(w)
	return t.Write(w)
}

// differentValues prints the values of the platform configuration that differ, with the file that each is from.
func (v Printer) differentValues(w io.Writer, c query.Comparison) error {
	if c.Configuration == nil || len(c.Configuration.Differences) == 0 {
		return nil
	}
	var t terminal.Table
	a, b := v.heads(c)
	t.Row(v.style.Heads("KEY", "IN "+a, "IN "+b, "ASSIGNMENTS")...)
	for _, d := range c.Configuration.Differences {
		where := fmt.Sprintf("%s/%s on %s", d.Workload, d.Target, d.ClusterType)
		if d.Assignments > 1 {
			where += fmt.Sprintf(" and %d more", d.Assignments-1)
		}
		t.Row(terminal.Plain(d.Key), terminal.Plain(valueFrom(d.A)), terminal.Plain(valueFrom(d.B)), terminal.Plain(where))
	}
	fmt.Fprintln(w)
	if err := t.Write(w); err != nil {
		return err
	}
	if left := c.Configuration.Left; left > 0 {
		fmt.Fprintf(w, "and %s\n", terminal.Count(left, "more difference"))
	}
	if skipped := c.Configuration.Skipped; skipped > 0 {
		fmt.Fprintf(w, "%s not compared: there are too many different configurations\n", terminal.Count(skipped, "assignment"))
	}
	return nil
}

// valueFrom returns a value and where it is written.
func valueFrom(v *query.ConfigValue) string {
	if v == nil {
		return Value(nil)
	}
	text := Value(&v.Value)
	if v.From.Position != (fleet.Position{}) {
		text += " (" + Position(v.From.Position) + ")"
	}
	return text
}

// between prints what happened between two times of one environment.
func (v Printer) between(w io.Writer, c query.Comparison) error {
	if len(c.Events) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	if err := v.Events(w, c.Events); err != nil || !c.EventsLeft {
		return err
	}
	_, err := fmt.Fprintf(w, "and more: kalypso history %s has all\n", terminal.Printable(c.A.Environment))
	return err
}
