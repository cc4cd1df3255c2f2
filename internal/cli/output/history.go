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

// Events prints a line for each event.
func (v Printer) Events(w io.Writer, events []query.Event) error {
	var t terminal.Table
	for _, event := range events {
		t.Row(terminal.Painted(v.style.Dim, v.When(event.At)), v.eventKind(event), terminal.Plain(summary(event)))
	}
	return t.Write(w)
}

// eventKind returns the kind of an event in the color of its outcome.
func (v Printer) eventKind(event query.Event) terminal.Cell {
	s := v.style
	switch {
	case event.State == ledger.StateFailed || event.Step == "failed":
		return terminal.Painted(s.Red, string(event.Kind))
	case event.Step == "deployed":
		return terminal.Painted(s.Green, string(event.Kind))
	}
	return terminal.Plain(string(event.Kind))
}

// summary returns the event's summary, with reason and user unless it contains them.
func summary(event query.Event) string {
	line := terminal.ShortHashes(event.Summary)
	if reason := terminal.ShortHashes(event.Reason); reason != "" && !strings.Contains(line, reason) {
		line += ": " + reason
	}
	if event.By != "" && !strings.Contains(line, event.By) {
		line += ", by " + event.By
	}
	return line
}

// Environment prints the commit of an environment and that of its GitOps branch.
func (v Printer) Environment(w io.Writer, e query.EnvironmentDetail) error {
	var t terminal.Table
	t.Row(terminal.Painted(v.style.Bold, e.Name), terminal.Plain("commit"), terminal.Plain(cmp.Or(terminal.Short(e.Commit), "-")), PhaseCell(v.style, e.Phase), terminal.Plain(reasonOf(e.Environment)))
	if e.GitOps != nil {
		t.Row(terminal.Plain(""), terminal.Plain("GitOps"), terminal.Plain(cmp.Or(terminal.Short(e.GitOps.Commit), "-")), gateOf(v.style, e.Environment))
	}
	return t.Write(w)
}

// Versions prints the versions of workloads and where they ran.
func (v Printer) Versions(w io.Writer, versions []query.Version) error {
	if len(versions) == 0 {
		_, err := fmt.Fprintln(w, "no versions known; they are read from DeploymentDescriptors in application GitOps repositories")
		return err
	}
	var t terminal.Table
	t.Row(v.style.Heads("ENVIRONMENT", "WORKLOAD", "TARGET", "VERSION", "STATE", "RECONCILERS", "SINCE")...)
	for _, r := range versions {
		t.Row(terminal.Plain(r.Environment), terminal.Plain(r.Workload), terminal.Plain(r.Target), terminal.Plain(r.VersionState.Version.Version), stateCell(v.style, r.State),
			terminal.Plain(fmt.Sprint(r.Reconcilers)), terminal.Plain(v.When(r.Since)))
	}
	return t.Write(w)
}
