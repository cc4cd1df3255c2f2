package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/observing"
)

// comparison shows how two environments differ, side by side.
func (v view) comparison(w io.Writer, c observing.Comparison) error {
	return comparisonText{v}.write(w, c)
}

type comparisonText struct{ view }

func (s comparisonText) write(w io.Writer, c observing.Comparison) error {
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
	_, err := fmt.Fprintf(w, "\n%s and %s are the same in both\n", count(c.Same.Targets, "target"), count(c.Same.Assignments, "assignment"))
	return err
}

func (s comparisonText) sides(w io.Writer, c observing.Comparison) error {
	style := s.style
	var t table
	t.row(plain(""), painted(style.bold, c.A.Environment), painted(style.bold, c.B.Environment))
	mark := style.yellow
	if c.SameCommit {
		mark = style.green
	}
	t.row(plain("commit"), painted(mark, cmp.Or(short(c.A.Commit), "-")), painted(mark, cmp.Or(short(c.B.Commit), "-")))
	t.row(plain("since"), plain(s.when(c.A.Since)), plain(s.when(c.B.Since)))
	t.row(plain("GitOps"), plain(cmp.Or(short(c.A.GitOpsCommit), "-")), plain(cmp.Or(short(c.B.GitOpsCommit), "-")))
	return t.write(w)
}

func (s comparisonText) targets(w io.Writer, c observing.Comparison) error {
	style := s.style
	var t table
	t.row(style.heads("WORKLOAD", "TARGET", "IN "+c.A.Environment, "IN "+c.B.Environment)...)
	for _, d := range c.Targets {
		t.row(plain(d.Workload), plain(d.Target), plain(versions(d.A)), plain(versions(d.B)))
	}
	fmt.Fprintln(w)
	return t.write(w)
}

// versions are those that run of a target, and the one that should when it does not.
func versions(v *observing.TargetVersions) string {
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

func (s comparisonText) assignments(w io.Writer, c observing.Comparison) error {
	style := s.style
	var t table
	t.row(style.heads("ONLY IN", "CLUSTER TYPE", "WORKLOAD", "TARGET")...)
	for _, d := range c.Assignments {
		in := c.A.Environment
		if d.In == observing.InB {
			in = c.B.Environment
		}
		t.row(plain(in), plain(d.ClusterType), plain(cmp.Or(d.Workload, "-")), plain(d.Target))
	}
	fmt.Fprintln(w)
	return t.write(w)
}
