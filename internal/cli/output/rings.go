package output

import (
	"cmp"
	"fmt"
	"io"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// rings prints the rings of an environment: a line for each, and what users requested for it.
func (v Printer) rings(w io.Writer, e query.EnvironmentDetail) error {
	t := terminal.Table{Indent: "  "}
	for i := range e.Rings {
		t.Row(v.ringCells(decide.RingName(e.Name, e.Rings[i].Name), &e.Rings[i])...)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	commands := terminal.Table{Indent: "  "}
	for _, r := range e.Rings {
		row := func(what, commit, by, why string) {
			commands.Row(terminal.Plain(decide.RingName(e.Name, r.Name)), terminal.Painted(v.style.Dim, what),
				terminal.Plain(terminal.Short(commit)+terminal.ByUser(by)+terminal.Because(why)))
		}
		if o := r.Requested; o != nil {
			row("requested", o.Commit, o.By, o.Why)
		}
		for _, a := range r.Aborted {
			row("aborted", a.Commit, a.By, a.Why)
		}
		for _, s := range r.Skipped {
			row("skipped", s.Commit, s.By, s.Why)
		}
	}
	return commands.Write(w)
}

// ringCells are the columns of a ring: name, commit, phase, clusters and reason. The commit is the promoted one, like that of environments.
func (v Printer) ringCells(name string, r *query.Ring) []terminal.Cell {
	return []terminal.Cell{
		terminal.Plain(name), terminal.Plain(cmp.Or(terminal.Short(cmp.Or(r.Source, r.Commit)), "-")), PhaseCell(v.style, r.Phase),
		countsCell(v.style, r.Counts), terminal.Plain(terminal.ShortHashes(r.Reason)),
	}
}

// countsCell returns how many of the counted reconcilers have reached the commit, and how many failed.
func countsCell(s terminal.Style, c comply.Counts) terminal.Cell {
	text := fmt.Sprintf("%d/%d", c.Reached, c.Counted)
	switch {
	case c.Failed > 0:
		return terminal.Painted(s.Red, fmt.Sprintf("%s, %d failed", text, c.Failed))
	case c.Reached >= c.Required:
		return terminal.Painted(s.Green, text)
	}
	return terminal.Painted(s.Yellow, text)
}
