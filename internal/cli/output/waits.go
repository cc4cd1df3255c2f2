package output

import (
	"cmp"
	"fmt"
	"io"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// WaitReasons prints what each environment waits for.
func (v Printer) WaitReasons(w io.Writer, environments []query.EnvironmentDetail) error {
	if len(environments) == 0 {
		return v.Environments(w, nil)
	}
	for i, e := range environments {
		if i > 0 {
			fmt.Fprintln(w)
		}
		var t terminal.Table
		t.Row(terminal.Painted(v.style.Bold, e.Name), terminal.Plain(cmp.Or(terminal.Short(e.Commit), "-")), PhaseCell(v.style, e.Phase), GateCell(v.style, e.Gate))
		if err := t.Write(w); err != nil {
			return err
		}
		lines := terminal.Table{Indent: "  "}
		v.reasons(&lines, e)
		if err := lines.Write(w); err != nil {
			return err
		}
		if err := v.rings(w, e); err != nil {
			return err
		}
	}
	return nil
}

// checkText describes a verification: its state and why, and the last answer with what it has to satisfy.
func checkText(c decide.CheckProgress) string {
	text := c.Name + ": " + cmp.Or(string(c.State), "not run yet")
	if c.Value != "" && c.State == decide.CheckPassed {
		text += ", " + c.Value
		if c.Expression != "" {
			text += " (" + c.Expression + ")"
		}
	}
	if c.Bypass != nil {
		return text + terminal.ByUser(c.Bypass.By) + terminal.Because(c.Bypass.Why)
	}
	for i, a := range c.Approvals {
		if i == 0 {
			text += ", approved" + terminal.ByUser(a.By)
		} else {
			text += ", " + a.By
		}
		if a.Forge != "" {
			text += " on " + a.Forge
		}
	}
	return text + terminal.Because(c.Reason)
}

func (v Printer) reasons(t *terminal.Table, e query.EnvironmentDetail) {
	row := func(what, text string) {
		if text != "" {
			t.Row(terminal.Painted(v.style.Dim, what), terminal.Plain(terminal.ShortHashes(text)))
		}
	}
	row("next", e.Candidate)
	row("why", reasonOf(e.Environment))
	if o := e.Requested; o != nil {
		row("requested", o.Commit+terminal.ByUser(o.By)+terminal.Because(o.Why))
	}
	for _, p := range e.Proposals {
		if p.State == decide.ProposalOpen {
			row("approve", cmp.Or(p.URL, "a pull request for "+p.Commit+" is open"))
		}
	}
	for _, check := range e.Checks {
		row("verified", checkText(check))
	}
	for _, a := range e.Aborted {
		row("aborted", a.Commit+terminal.ByUser(a.By)+terminal.Because(a.Why))
	}
	for _, note := range notesOf(e.Environment) {
		row("", note)
	}
}
