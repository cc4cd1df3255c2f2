package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/kalypso-io/kalypso/internal/observing"
	"github.com/kalypso-io/kalypso/internal/promotion"
)

// waits says why environments wait, in a few lines for each.
func (v view) waits(w io.Writer, all []observing.EnvironmentDetail) error {
	return waitText{v}.write(w, all)
}

type waitText struct{ view }

func (s waitText) write(w io.Writer, environments []observing.EnvironmentDetail) error {
	if len(environments) == 0 {
		return s.environments(w, nil)
	}
	for i, e := range environments {
		if i > 0 {
			fmt.Fprintln(w)
		}
		var t table
		t.row(painted(s.style.bold, e.Name), plain(cmp.Or(short(e.Commit), "-")), s.style.phase(e.Phase), s.style.gate(e.Gate))
		if err := t.write(w); err != nil {
			return err
		}
		lines := table{indent: "  "}
		s.reasons(&lines, e)
		if err := lines.write(w); err != nil {
			return err
		}
	}
	return nil
}

func (s waitText) reasons(t *table, e observing.EnvironmentDetail) {
	row := func(what, text string) {
		if text != "" {
			t.row(painted(s.style.dim, what), plain(shortHashes(text)))
		}
	}
	row("next", e.Candidate)
	row("why", reasonOf(e.Environment))
	if o := e.Ordered; o != nil {
		row("ordered", o.Commit+byWhom(o.By)+because(o.Why))
	}
	for _, p := range e.Proposals {
		if p.State == promotion.ProposalOpen {
			row("approve", cmp.Or(p.URL, "a change for "+p.Commit+" is open"))
		}
	}
	for _, check := range e.Checks {
		row("verified", check.Name+": "+cmp.Or(string(check.State), "not run yet")+because(check.Reason))
	}
	for _, a := range e.Aborted {
		row("aborted", a.Commit+byWhom(a.By)+because(a.Why))
	}
	for _, note := range notesOf(e.Environment) {
		row("", note)
	}
}
