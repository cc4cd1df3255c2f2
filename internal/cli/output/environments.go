package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// Environments prints environments: a table, and below it notes about what a user can act on.
func (v Printer) Environments(w io.Writer, environments []query.Environment) error {
	if len(environments) == 0 {
		_, err := fmt.Fprintln(w, `No environments yet. They appear once kalypso serve has read a control plane, or when a ledger with their commits
is imported. Add clusters with kalypso cluster register.`)
		return err
	}
	for i, group := range byControlPlane(environments) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if url := group[0].ControlPlane; url != "" && len(group) < len(environments) {
			fmt.Fprintln(w, v.style.Bold(terminal.Printable(url)))
		}
		if err := v.EnvironmentTable(w, group); err != nil {
			return err
		}
	}
	return v.notes(w, environments)
}

// byControlPlane splits sorted environments where the control plane changes.
func byControlPlane(environments []query.Environment) [][]query.Environment {
	var groups [][]query.Environment
	for i, e := range environments {
		if i == 0 || e.ControlPlane != environments[i-1].ControlPlane {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], e)
	}
	return groups
}

// EnvironmentTable prints the table of environments without notes.
func (v Printer) EnvironmentTable(w io.Writer, environments []query.Environment) error {
	var t terminal.Table
	t.Row(v.style.Heads("ENVIRONMENT", "COMMIT", "PHASE", "GATE", "REASON")...)
	for _, e := range environments {
		t.Row(terminal.Plain(e.Name), terminal.Plain(cmp.Or(terminal.Short(e.Commit), "-")), PhaseCell(v.style, e.Phase), gateOf(v.style, e), terminal.Plain(reasonOf(e)))
		for i := range e.Rings {
			t.Row(v.ringCells(decide.RingName(e.Name, e.Rings[i].Name), &e.Rings[i])...)
		}
	}
	return t.Write(w)
}

// reasonOf returns what an environment waits for, or the reason of its gate.
func reasonOf(e query.Environment) string {
	switch {
	case e.Error != "":
		return "the last round failed: " + e.Error
	case e.Reason != "":
		return terminal.ShortHashes(e.Reason)
	case e.Gate != nil:
		return e.Gate.Reason
	}
	return ""
}

// notes prints what a user can act on.
func (v Printer) notes(w io.Writer, environments []query.Environment) error {
	t := terminal.Table{}
	for _, e := range environments {
		for _, note := range notesOf(e) {
			t.Row(terminal.Painted(v.style.Bold, e.Name), terminal.Plain(note))
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return t.Write(w)
}

func notesOf(e query.Environment) []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if e.Paused != nil {
		add("paused by %s%s; resume with kalypso promote resume %s", e.Paused.By, terminal.Because(e.Paused.Why), terminal.ShellWord(e.Name))
	}
	for _, r := range e.Rings {
		if r.Paused != nil && (e.Paused == nil || *r.Paused != *e.Paused) {
			add("ring %s is paused by %s%s; resume with kalypso promote resume %s", r.Name, r.Paused.By, terminal.Because(r.Paused.Why),
				terminal.ShellWord(decide.RingName(e.Name, r.Name)))
		}
	}
	if e.Change != nil {
		add("pull request to merge: %s", cmp.Or(e.Change.URL, fmt.Sprintf("change %d", e.Change.Number)))
		if e.Change.Waits != "" {
			add("not merged automatically: %s", e.Change.Waits)
		}
	}
	if e.Held > 0 {
		add("%s held; see kalypso plan -e %s", terminal.Count(e.Held, "assignment"), terminal.ShellWord(e.Name))
	}
	if e.Problems.Errors > 0 {
		add("%s in its repositories; see kalypso validate", terminal.Count(e.Problems.Errors, "error"))
	}
	if e.Counts.Clusters > 0 {
		if n := len(e.WithoutClusters); n > 0 {
			add("%s without clusters, so the gate checks nothing for their assignments: %s; add clusters with kalypso cluster register NAME --member %s/%s",
				terminal.Count(n, "cluster type"), strings.Join(e.WithoutClusters, ", "), terminal.ShellWord(e.Name), terminal.ShellWord(e.WithoutClusters[0]))
		}
	}
	if e.Gate != nil && e.Gate.Result == comply.NoClusters {
		add("no clusters; add one with kalypso cluster register NAME --member %s/CLUSTERTYPE", terminal.ShellWord(e.Name))
	}
	if trouble := e.Trouble(); trouble != "" {
		text := trouble
		if h := e.Health; h.FailingTargets > 0 {
			text += ": " + strings.Join(h.Failing, ", ")
			if more := h.FailingTargets - len(h.Failing); more > 0 {
				text += fmt.Sprintf(" and %d more", more)
			}
		}
		add("%s", text)
	}
	if e.Gate != nil && (e.Gate.Result != comply.Passed || e.Gate.Counts.Reached < e.Gate.Counts.Expected) {
		notes = append(notes, causesOf(e.Gate, e.Reason)...)
	}
	return notes
}

// causesOf returns the causes of a gate. A cause that the reason contains already is not repeated.
func causesOf(g *query.Gate, reason string) []string {
	var notes []string
	for i, c := range g.Causes {
		var note string
		switch text := c.String(); {
		case strings.Contains(reason, text):
		case c.State != comply.Broken && c.Count == 1:
			note = fmt.Sprintf("%s is %s%s", c.Clusters[0], c.State, terminal.Because(c.Reason))
		default:
			note = text
		}
		if i == 0 && len(g.Worst) > 0 {
			see := "see kalypso cluster show " + terminal.ShellWord(g.Worst[0].Cluster)
			note = strings.TrimPrefix(note+"; "+see, "; ")
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

// PhaseCell returns a phase in its color.
func PhaseCell(s terminal.Style, p decide.State) terminal.Cell {
	switch p {
	case decide.Soaking, decide.Good:
		return terminal.Painted(s.Green, string(p))
	case decide.Failed, decide.Rejected, decide.TakenBack:
		return terminal.Painted(s.Red, string(p))
	case decide.Unknown, decide.NoClusters, decide.Outside, "":
		return terminal.Painted(s.Dim, cmp.Or(string(p), "-"))
	}
	return terminal.Painted(s.Yellow, string(p))
}

// gateOf returns the gate of an environment. If the gate is about another commit, the cell names that one.
func gateOf(s terminal.Style, e query.Environment) terminal.Cell {
	cell := GateCell(s, e.Gate)
	if e.Gate != nil && e.Gate.SourceCommit != "" && e.Commit != "" && e.Gate.SourceCommit != e.Commit {
		cell.Text += " run " + terminal.Short(e.Gate.SourceCommit)
	}
	return cell
}

// GateCell returns how many of the expected reconcilers have reached the commit.
func GateCell(s terminal.Style, g *query.Gate) terminal.Cell {
	if g == nil {
		return terminal.Painted(s.Dim, "-")
	}
	text := fmt.Sprintf("%d/%d", g.Counts.Reached, g.Counts.Counted)
	if g.Counts.Degraded > 0 {
		text += fmt.Sprintf(", %d degraded", g.Counts.Degraded)
	}
	switch g.Result {
	case comply.Passed:
		return terminal.Painted(s.Green, text)
	case comply.Failed, comply.TimedOut:
		return terminal.Painted(s.Red, text)
	}
	return terminal.Painted(s.Yellow, text)
}

// standingCell returns the state of a cluster or reconciler in its color.
func standingCell(s terminal.Style, state comply.State) terminal.Cell {
	switch state {
	case comply.Reached:
		return terminal.Painted(s.Green, string(state))
	case comply.Broken, comply.Offline:
		return terminal.Painted(s.Red, string(state))
	case "":
		return terminal.Painted(s.Dim, "-")
	}
	return terminal.Painted(s.Yellow, string(state))
}
