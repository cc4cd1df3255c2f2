package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Events shows what happened, one line an event.
func (v View) Events(w io.Writer, events []query.Event) error {
	return eventText{v}.write(w, events)
}

type eventText struct{ View }

func (e eventText) write(w io.Writer, events []query.Event) error {
	var t terminal.Table
	for _, event := range events {
		t.Row(terminal.Painted(e.style.Dim, e.When(event.At)), e.kind(event), terminal.Plain(e.line(event)))
	}
	return t.Write(w)
}

// kind is what an event is about, in the colour of how it is.
func (e eventText) kind(event query.Event) terminal.Cell {
	s := e.style
	switch {
	case event.State == ledger.StateFailed || event.Step == "failed":
		return terminal.Painted(s.Red, string(event.Kind))
	case event.Step == "arrived":
		return terminal.Painted(s.Green, string(event.Kind))
	}
	return terminal.Plain(string(event.Kind))
}

// line is the summary, with the reason where it says something else.
func (e eventText) line(event query.Event) string {
	line := terminal.ShortHashes(event.Summary)
	if reason := terminal.ShortHashes(event.Reason); reason != "" && !strings.Contains(line, reason) {
		line += ": " + reason
	}
	if event.By != "" && !strings.Contains(line, event.By) {
		line += ", by " + event.By
	}
	return line
}

// Environment shows how one environment was: its commit, and how that of its GitOps branch stood.
func (v View) Environment(w io.Writer, e query.EnvironmentDetail) error {
	var t terminal.Table
	t.Row(terminal.Painted(v.style.Bold, e.Name), terminal.Plain("commit"), terminal.Plain(cmp.Or(terminal.Short(e.Commit), "-")), PhaseCell(v.style, e.Phase), terminal.Plain(reasonOf(e.Environment)))
	if e.GitOps != nil {
		t.Row(terminal.Plain(""), terminal.Plain("GitOps"), terminal.Plain(cmp.Or(terminal.Short(e.GitOps.Commit), "-")), gateOf(v.style, e.Environment))
	}
	return t.Write(w)
}

// Versions lists which versions of workloads ran where.
func (v View) Versions(w io.Writer, versions []query.Version) error {
	if len(versions) == 0 {
		_, err := fmt.Fprintln(w, "no workload's version was known; they come from DeploymentDescriptors in application GitOps repositories")
		return err
	}
	style := v.style
	var t terminal.Table
	t.Row(style.Heads("ENVIRONMENT", "WORKLOAD", "TARGET", "VERSION", "STATE", "RECONCILERS", "SINCE")...)
	for _, r := range versions {
		t.Row(terminal.Plain(r.Environment), terminal.Plain(r.Workload), terminal.Plain(r.Target), terminal.Plain(r.VersionState.Version.Version), stateCell(style, r.State),
			terminal.Plain(fmt.Sprint(r.Reconcilers)), terminal.Plain(v.When(r.Since)))
	}
	return t.Write(w)
}
