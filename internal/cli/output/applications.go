package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// Applications shows applications, a line each: which build is in each environment, and how that stands. Below it is what a
// person can do something about.
func (v View) Applications(w io.Writer, all []query.Application) error {
	return applicationText{v.style}.write(w, all)
}

// Application shows how one application stands in its environments.
func (v View) Application(w io.Writer, a query.Application) error {
	return applicationText{v.style}.one(w, a)
}

// applicationText shows applications for people.
type applicationText struct{ style terminal.Style }

func (s applicationText) write(w io.Writer, all []query.Application) error {
	environments := environmentsOf(all)
	heads := []string{"APPLICATION"}
	heads = append(heads, environments...)
	var t terminal.Table
	t.Row(s.style.Heads(heads...)...)
	for _, a := range all {
		row := []terminal.Cell{terminal.Plain(a.Name)}
		for _, name := range environments {
			row = append(row, s.place(a, name))
		}
		t.Row(row...)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	return s.notes(w, all, func(a query.Application, e query.ApplicationEnvironment) string {
		return a.Name + " " + e.Environment
	})
}

// environmentsOf are those of all applications, as their chains have them: where they differ, those of the first come first.
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

// place says which build of an application an environment has.
func (s applicationText) place(a query.Application, environment string) terminal.Cell {
	for _, e := range a.Environments {
		if e.Environment != environment {
			continue
		}
		cell := PhaseCell(s.style, e.Phase)
		cell.Text = buildName(e.Build) + " " + cell.Text
		if e.Gate != nil {
			cell.Text += " " + GateCell(s.style, e.Gate).Text
		}
		return cell
	}
	return terminal.Painted(s.style.Dim, "-")
}

// buildName is what people call a build; a dash for none.
func buildName(b *deliver.Build) string {
	if b == nil {
		return "-"
	}
	return cmp.Or(b.Name(), "-")
}

func (s applicationText) one(w io.Writer, a query.Application) error {
	var t terminal.Table
	t.Row(s.style.Heads("ENVIRONMENT", "BUILD", "PHASE", "GATE", "REASON")...)
	for _, e := range a.Environments {
		reason := terminal.ShortHashes(e.Reason)
		if e.Error != "" {
			reason = "the last round failed: " + e.Error
		}
		t.Row(terminal.Plain(e.Environment), terminal.Plain(buildName(e.Build)), PhaseCell(s.style, e.Phase), GateCell(s.style, e.Gate), terminal.Plain(reason))
	}
	if err := t.Write(w); err != nil {
		return err
	}
	return s.notes(w, []query.Application{a}, func(_ query.Application, e query.ApplicationEnvironment) string { return e.Environment })
}

// notes are what a person can do something about.
func (s applicationText) notes(w io.Writer, all []query.Application, name func(query.Application, query.ApplicationEnvironment) string) error {
	var t terminal.Table
	for _, a := range all {
		if a.Error != "" {
			t.Row(terminal.Painted(s.style.Bold, a.Name), terminal.Plain("the last round failed: "+a.Error))
		}
		for _, e := range a.Environments {
			for _, note := range applicationNotes(e) {
				t.Row(terminal.Painted(s.style.Bold, name(a, e)), terminal.Plain(note))
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return t.Write(w)
}

func applicationNotes(e query.ApplicationEnvironment) []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if e.Paused != nil {
		add("is paused by %s%s", e.Paused.By, terminal.Because(e.Paused.Why))
	}
	if e.Change != nil {
		add("waits to be merged: %s", cmp.Or(e.Change.URL, fmt.Sprintf("change %d", e.Change.Number)))
		if e.Change.Waits != "" {
			add("is not merged by itself: %s", e.Change.Waits)
		}
	}
	if e.Held > 0 {
		add("%s held: kalypso app plan -e %s says why", terminal.Count(e.Held, "target"), terminal.ShellWord(e.Environment))
	}
	if e.Findings.Refuse > 0 {
		add("%s of the checks refuse it: kalypso app plan -e %s lists them", terminal.Count(e.Findings.Refuse, "finding"), terminal.ShellWord(e.Environment))
	}
	if e.Drift > 0 {
		add("%s changed by hand", terminal.Count(e.Drift, "file"))
	}
	if e.Problems.Errors > e.Held {
		add("%s in its repositories: kalypso app plan -e %s lists them", terminal.Count(e.Problems.Errors, "error"), terminal.ShellWord(e.Environment))
	}
	if e.Gate != nil && len(e.Gate.Worst) > 0 {
		worst := e.Gate.Worst[0]
		add("%s: kalypso cluster show %s says more", worstOf(worst), terminal.ShellWord(worst.Cluster))
	}
	return notes
}
