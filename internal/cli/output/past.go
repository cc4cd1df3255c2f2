package output

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// SolutionVersions prints a line for each version of an environment.
func (v Printer) SolutionVersions(w io.Writer, past deliver.EnvironmentPast) error {
	fmt.Fprintf(w, "%s in %s, branch %s of %s\n\n", v.style.Bold(terminal.Printable(past.Application)), terminal.Printable(past.Environment),
		terminal.Printable(past.Branch), terminal.Printable(past.Repository))
	if len(past.Versions) == 0 {
		return v.nothingMerged(w, past.More)
	}
	var t terminal.Table
	t.Row(v.style.Heads("", "VERSION", "MERGED", "BY", "BUILD", "CONFIGURATION", "TARGETS", "CHANGED")...)
	for _, version := range past.Versions {
		t.Row(append(v.merge(version.Merge), terminal.Plain(fmt.Sprint(version.Targets)), terminal.Plain(some(version.Changed)))...)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	return v.more(w, past.More)
}

// PlatformVersions prints a line for each version of the platform.
func (v Printer) PlatformVersions(w io.Writer, past *schedule.PlatformPast) error {
	fmt.Fprintf(w, "%s in %s, branch %s of %s\n\n", v.style.Bold("platform"), terminal.Printable(past.Environment), terminal.Printable(past.Branch),
		terminal.Printable(past.Repository))
	if len(past.Versions) == 0 {
		return v.nothingMerged(w, past.More)
	}
	var t terminal.Table
	t.Row(v.style.Heads("", "VERSION", "MERGED", "BY", "ENVIRONMENT", "MAIN", "FOLDERS", "CHANGED")...)
	for _, version := range past.Versions {
		m := deliver.Merge{Commit: version.Commit, Merged: version.Merged, By: version.By, Current: version.Current}
		t.Row(append(v.merge(m)[:4], terminal.Plain(cmp.Or(terminal.Short(version.Environment), "-")), terminal.Plain(cmp.Or(terminal.Short(version.Main), "-")),
			terminal.Plain(fmt.Sprint(version.Folders)), terminal.Plain(some(version.Changed)))...)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	return v.more(w, past.More)
}

// Revisions prints a line for each revision of a target.
func (v Printer) Revisions(w io.Writer, past query.TargetRevisions) error {
	fmt.Fprintf(w, "%s of %s in %s, folder %s of branch %s of %s\n\n", v.style.Bold(terminal.Printable(past.Target)), terminal.Printable(past.Application),
		terminal.Printable(past.Environment), terminal.Printable(past.Folder), terminal.Printable(past.Branch), terminal.Printable(past.Repository))
	if p := past.Pinned; p != nil {
		fmt.Fprintf(w, "%s\n\n", terminal.Printable(v.pinned(past.Target, p)))
	}
	if len(past.Revisions) == 0 {
		return v.nothingMerged(w, past.More)
	}
	var t terminal.Table
	t.Row(v.style.Heads("", "REVISION", "MERGED", "BY", "BUILD", "CONFIGURATION", "DEPLOYED", "RUNS", "")...)
	for _, r := range past.Revisions {
		t.Row(append(v.merge(r.Merge), v.deployed(past, r), terminal.Plain(runs(r)), terminal.Plain(note(r)))...)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	if !past.Reports {
		fmt.Fprintln(w, "\nwhat clusters run is unknown: use --ledger or --server")
	}
	return v.more(w, past.More)
}

// merge returns the cells that versions and revisions have in common.
func (v Printer) merge(m deliver.Merge) []terminal.Cell {
	mark := ""
	if m.Current {
		mark = "*"
	}
	return []terminal.Cell{
		terminal.Plain(mark), terminal.Plain(terminal.Short(m.Commit)), terminal.Painted(v.style.Dim, v.When(m.Merged)), terminal.Plain(cmp.Or(m.By, "-")),
		terminal.Plain(cmp.Or(m.Build.Name(), "-")), terminal.Plain(cmp.Or(terminal.Short(m.Configuration), "-")),
	}
}

// deployed returns when clusters first ran a revision.
func (v Printer) deployed(past query.TargetRevisions, r query.TargetRevision) terminal.Cell {
	switch {
	case !r.Deployed.IsZero():
		return terminal.Painted(v.style.Green, v.When(r.Deployed))
	case !r.Failed.IsZero():
		return terminal.Painted(v.style.Red, "failed "+v.When(r.Failed))
	case past.Reports:
		return terminal.Plain("never")
	}
	return terminal.Plain("-")
}

// runs says how many reconcilers are at a revision, by state.
func runs(r query.TargetRevision) string {
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(r.Reconcilers)) {
		parts = append(parts, fmt.Sprintf("%d %s", r.Reconcilers[state], state))
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

// note says what is special about a revision.
func note(r query.TargetRevision) string {
	switch {
	case r.Files == "":
		return "removed"
	case r.Same != "":
		return "same files as " + terminal.Short(r.Same)
	}
	return ""
}

// some lists a few names.
func some(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return cmp.Or(strings.Join(names, ", "), "-")
}

func (v Printer) nothingMerged(w io.Writer, more bool) error {
	if more {
		_, err := fmt.Fprintln(w, "no change in the last commits of the branch; older ones were not read")
		return err
	}
	_, err := fmt.Fprintln(w, "nothing was merged yet")
	return err
}

func (v Printer) more(w io.Writer, more bool) error {
	if !more {
		return nil
	}
	_, err := fmt.Fprintln(w, "\nthere are older ones, or can be: use --limit to show more")
	return err
}

// pinned says what a target is pinned to, by whom, and since when.
func (v Printer) pinned(target string, p *deliver.PinnedSince) string {
	text := target + " is " + deliver.PinnedTarget{Name: target, Pin: p.Pin, Request: p.Request}.What("")
	if p.Since != nil {
		text += fmt.Sprintf("; since %s, merged as %s", v.When(p.Since.Merged), fleet.ShortCommit(p.Since.Commit))
	}
	return text
}
