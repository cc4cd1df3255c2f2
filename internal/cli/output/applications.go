package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// Applications prints a line for each application, with its build and phase in each environment. Below the table are notes
// about what a user can act on.
func (v Printer) Applications(w io.Writer, all []query.Application) error {
	environments := environmentsOf(all)
	heads := []string{"APPLICATION"}
	heads = append(heads, environments...)
	var t terminal.Table
	t.Row(v.style.Heads(heads...)...)
	for _, a := range all {
		row := []terminal.Cell{terminal.Plain(a.Name)}
		for _, name := range environments {
			row = append(row, v.buildCell(a, name))
		}
		t.Row(row...)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	return v.applicationNotes(w, all, func(a query.Application, e query.ApplicationEnvironment) string {
		return a.Name + " " + e.Environment
	})
}

// environmentsOf returns the environments of all applications, in the order in which they first occur.
func environmentsOf(all []query.Application) []string {
	var names []string
	for _, a := range all {
		for _, e := range a.Environments {
			if !slices.Contains(names, e.Environment) {
				names = append(names, e.Environment)
			}
		}
	}
	return names
}

func (v Printer) buildCell(a query.Application, environment string) terminal.Cell {
	for _, e := range a.Environments {
		if e.Environment != environment {
			continue
		}
		cell := PhaseCell(v.style, e.Phase)
		cell.Text = buildName(e.Build) + " " + cell.Text
		if e.Gate != nil {
			cell.Text += " " + GateCell(v.style, e.Gate).Text
		}
		return cell
	}
	return terminal.Painted(v.style.Dim, "-")
}

// buildName returns the name of a build; a dash for none.
func buildName(b *deliver.Build) string {
	if b == nil {
		return "-"
	}
	return cmp.Or(b.Name(), "-")
}

// Application prints the state of one application in its environments.
func (v Printer) Application(w io.Writer, a query.Application) error {
	var t terminal.Table
	t.Row(v.style.Heads("ENVIRONMENT", "BUILD", "PHASE", "GATE", "REASON")...)
	for _, e := range a.Environments {
		reason := terminal.ShortHashes(e.Reason)
		if e.Error != "" {
			reason = "the last round failed: " + e.Error
		}
		t.Row(terminal.Plain(e.Environment), terminal.Plain(buildName(e.Build)), PhaseCell(v.style, e.Phase), GateCell(v.style, e.Gate), terminal.Plain(reason))
	}
	if err := t.Write(w); err != nil {
		return err
	}
	return v.applicationNotes(w, []query.Application{a}, func(_ query.Application, e query.ApplicationEnvironment) string { return e.Environment })
}

// applicationNotes prints what a user can act on.
func (v Printer) applicationNotes(w io.Writer, all []query.Application, name func(query.Application, query.ApplicationEnvironment) string) error {
	var t terminal.Table
	for _, a := range all {
		if a.Error != "" {
			t.Row(terminal.Painted(v.style.Bold, a.Name), terminal.Plain("the last round failed: "+a.Error))
		}
		for _, e := range a.Environments {
			for _, note := range notesOfApplication(e) {
				t.Row(terminal.Painted(v.style.Bold, name(a, e)), terminal.Plain(note))
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return t.Write(w)
}

func notesOfApplication(e query.ApplicationEnvironment) []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if e.Paused != nil {
		add("paused by %s%s", e.Paused.By, terminal.Because(e.Paused.Why))
	}
	if e.Change != nil {
		add("pull request to merge: %s", cmp.Or(e.Change.URL, fmt.Sprintf("change %d", e.Change.Number)))
		if e.Change.Waits != "" {
			add("not merged automatically: %s", e.Change.Waits)
		}
	}
	if e.Held > 0 {
		add("%s held; see kalypso app plan -e %s", terminal.Count(e.Held, "target"), terminal.ShellWord(e.Environment))
	}
	notes = append(notes, pinNotes(e)...)
	if e.Findings.Refuse > 0 {
		add("refused by %s of checks; see kalypso app plan -e %s", terminal.Count(e.Findings.Refuse, "finding"), terminal.ShellWord(e.Environment))
	}
	if e.Drift > 0 {
		add("%s changed by hand", terminal.Count(e.Drift, "file"))
	}
	if e.Problems.Errors > e.Held {
		add("%s in its repositories; see kalypso app plan -e %s", terminal.Count(e.Problems.Errors, "error"), terminal.ShellWord(e.Environment))
	}
	if e.Gate != nil {
		notes = append(notes, causesOf(e.Gate, e.Reason)...)
	}
	return notes
}

// maxPins limits the pinned targets that are named.
const maxPins = 5

// pinNotes says which targets do not follow their environment, as far as that is known in detail.
func pinNotes(e query.ApplicationEnvironment) []string {
	if e.Pinned == 0 {
		return nil
	}
	if e.Detail == nil || len(e.Detail.Pinned) == 0 {
		return []string{terminal.Count(e.Pinned, "target") + " pinned or uninstalled; kalypso app status names them"}
	}
	return Pins(e.Detail.Pinned)
}

// Pins says which targets do not follow their environment, and who asked for that.
func Pins(pinned []deliver.PinnedTarget) []string {
	var notes []string
	for i, t := range pinned {
		if i == maxPins {
			return append(notes, terminal.Count(len(pinned)-i, "more target")+" pinned or uninstalled; -o json lists all")
		}
		note := t.Name + " is " + t.What("")
		if !t.At.IsZero() {
			note += " on " + t.At.UTC().Format(time.DateOnly)
		}
		notes = append(notes, note)
	}
	return notes
}
