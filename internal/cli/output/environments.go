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

// Environments shows environments: a table, and below it what a person can do something about.
func (v View) Environments(w io.Writer, all []query.Environment) error {
	return statusText{v.style}.write(w, all)
}

// Standings is the table of environments alone.
func (v View) Standings(w io.Writer, all []query.Environment) error {
	return statusText{v.style}.table(w, all)
}

// statusText shows environments for people.
type statusText struct{ style terminal.Style }

func (s statusText) write(w io.Writer, environments []query.Environment) error {
	if len(environments) == 0 {
		_, err := fmt.Fprintln(w, `No environments are known yet. They come by themselves once kalypso serve has looked at a control plane,
or when a ledger with their commits is imported. Clusters are added with kalypso cluster register.`)
		return err
	}
	for i, group := range byControlPlane(environments) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if url := group[0].ControlPlane; url != "" && len(group) < len(environments) {
			fmt.Fprintln(w, s.style.Bold(terminal.Printable(url)))
		}
		if err := s.table(w, group); err != nil {
			return err
		}
	}
	return s.notes(w, environments)
}

// byControlPlane splits environments where the control plane changes; they come sorted.
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

func (s statusText) table(w io.Writer, environments []query.Environment) error {
	var t terminal.Table
	t.Row(s.style.Heads("ENVIRONMENT", "COMMIT", "PHASE", "GATE", "REASON")...)
	for _, e := range environments {
		t.Row(terminal.Plain(e.Name), terminal.Plain(cmp.Or(terminal.Short(e.Commit), "-")), PhaseCell(s.style, e.Phase), gateOf(s.style, e), terminal.Plain(reasonOf(e)))
	}
	return t.Write(w)
}

// reasonOf says what an environment waits for, or else how its gate stands.
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

// notes are what a person can do something about, below the table.
func (s statusText) notes(w io.Writer, environments []query.Environment) error {
	t := terminal.Table{}
	for _, e := range environments {
		for _, note := range notesOf(e) {
			t.Row(terminal.Painted(s.style.Bold, e.Name), terminal.Plain(note))
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
		add("is paused by %s%s; kalypso promote resume %s ends that", e.Paused.By, terminal.Because(e.Paused.Why), terminal.ShellWord(e.Name))
	}
	if e.Change != nil {
		add("waits to be merged: %s", cmp.Or(e.Change.URL, fmt.Sprintf("change %d", e.Change.Number)))
		if e.Change.Waits != "" {
			add("is not merged by itself: %s", e.Change.Waits)
		}
	}
	if e.Held > 0 {
		add("%s held: kalypso plan -e %s says why", terminal.Count(e.Held, "assignment"), terminal.ShellWord(e.Name))
	}
	if e.Problems.Errors > 0 {
		add("%s in its repositories: kalypso validate lists them", terminal.Count(e.Problems.Errors, "error"))
	}
	if e.Gate != nil && e.Gate.Result == comply.Nobody {
		add("has no clusters: kalypso cluster register NAME --member %s/CLUSTERTYPE adds one", terminal.ShellWord(e.Name))
	}
	if e.Gate != nil && e.Gate.Result != comply.Passed && len(e.Gate.Worst) > 0 {
		worst := e.Gate.Worst[0]
		add("%s: kalypso cluster show %s says more", worstOf(worst), terminal.ShellWord(worst.Cluster))
	}
	return notes
}

func worstOf(r comply.Reconciler) string {
	if r.State == comply.Broken {
		return r.Cluster + " failed" + terminal.Because(r.Reason)
	}
	return fmt.Sprintf("%s is %s%s", r.Cluster, r.State, terminal.Because(r.Reason))
}

// PhaseCell names where a commit stands.
func PhaseCell(s terminal.Style, p decide.Phase) terminal.Cell {
	switch p {
	case decide.Deployed:
		return terminal.Painted(s.Green, string(p))
	case decide.Failed, decide.Refused, decide.Aborted:
		return terminal.Painted(s.Red, string(p))
	case decide.Unknown, decide.Nobody, decide.Empty, "":
		return terminal.Painted(s.Dim, cmp.Or(string(p), "-"))
	}
	return terminal.Painted(s.Yellow, string(p))
}

// gateOf is the gate of an environment. While another commit is only proposed there, it says which one it is about.
func gateOf(s terminal.Style, e query.Environment) terminal.Cell {
	cell := GateCell(s, e.Gate)
	if e.Gate != nil && e.Gate.SourceCommit != "" && e.Commit != "" && e.Gate.SourceCommit != e.Commit {
		cell.Text += " run " + terminal.Short(e.Gate.SourceCommit)
	}
	return cell
}

// GateCell counts who has reached the commit, of those who have to.
func GateCell(s terminal.Style, g *query.Gate) terminal.Cell {
	if g == nil {
		return terminal.Painted(s.Dim, "-")
	}
	text := fmt.Sprintf("%d/%d", g.Counts.Reached, g.Counts.Counted)
	switch g.Result {
	case comply.Passed:
		return terminal.Painted(s.Green, text)
	case comply.Failed, comply.TimedOut:
		return terminal.Painted(s.Red, text)
	}
	return terminal.Painted(s.Yellow, text)
}

// standingCell is how a cluster stands to what it should run.
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
