package output

import (
	"cmp"
	"fmt"
	"io"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// Waits says why environments wait, in a few lines for each.
func (v View) Waits(w io.Writer, all []query.EnvironmentDetail) error {
	return waitText{v}.write(w, all)
}

type waitText struct{ View }

func (s waitText) write(w io.Writer, environments []query.EnvironmentDetail) error {
	if len(environments) == 0 {
		return s.Environments(w, nil)
	}
	for i, e := range environments {
		if i > 0 {
			fmt.Fprintln(w)
		}
		var t terminal.Table
		t.Row(terminal.Painted(s.style.Bold, e.Name), terminal.Plain(cmp.Or(terminal.Short(e.Commit), "-")), PhaseCell(s.style, e.Phase), GateCell(s.style, e.Gate))
		if err := t.Write(w); err != nil {
			return err
		}
		lines := terminal.Table{Indent: "  "}
		s.reasons(&lines, e)
		if err := lines.Write(w); err != nil {
			return err
		}
	}
	return nil
}

func (s waitText) reasons(t *terminal.Table, e query.EnvironmentDetail) {
	row := func(what, text string) {
		if text != "" {
			t.Row(terminal.Painted(s.style.Dim, what), terminal.Plain(terminal.ShortHashes(text)))
		}
	}
	row("next", e.Candidate)
	row("why", reasonOf(e.Environment))
	if o := e.Ordered; o != nil {
		row("ordered", o.Commit+terminal.ByWhom(o.By)+terminal.Because(o.Why))
	}
	for _, p := range e.Proposals {
		if p.State == decide.ProposalOpen {
			row("approve", cmp.Or(p.URL, "a change for "+p.Commit+" is open"))
		}
	}
	for _, check := range e.Checks {
		row("verified", check.Name+": "+cmp.Or(string(check.State), "not run yet")+terminal.Because(check.Reason))
	}
	for _, a := range e.Aborted {
		row("aborted", a.Commit+terminal.ByWhom(a.By)+terminal.Because(a.Why))
	}
	for _, note := range notesOf(e.Environment) {
		row("", note)
	}
}
