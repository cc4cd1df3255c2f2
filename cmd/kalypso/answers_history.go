package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/observing"
)

// events shows what happened, one line an event.
func (v view) events(w io.Writer, events []observing.Event) error {
	return eventText{v}.write(w, events)
}

type eventText struct{ view }

func (e eventText) write(w io.Writer, events []observing.Event) error {
	var t table
	for _, event := range events {
		t.row(painted(e.style.dim, e.when(event.At)), e.kind(event), plain(e.line(event)))
	}
	return t.write(w)
}

// kind is what an event is about, in the colour of how it is.
func (e eventText) kind(event observing.Event) cell {
	s := e.style
	switch {
	case event.State == ledger.StateFailed || event.Step == "failed":
		return painted(s.red, string(event.Kind))
	case event.Step == "arrived":
		return painted(s.green, string(event.Kind))
	}
	return plain(string(event.Kind))
}

// line is the summary, with the reason where it says something else.
func (e eventText) line(event observing.Event) string {
	line := shortHashes(event.Summary)
	if reason := shortHashes(event.Reason); reason != "" && !strings.Contains(line, reason) {
		line += ": " + reason
	}
	if event.By != "" && !strings.Contains(line, event.By) {
		line += ", by " + event.By
	}
	return line
}

// environment shows how one environment was: its commit, and how that of its GitOps branch stood.
func (v view) environment(w io.Writer, e observing.EnvironmentDetail) error {
	var t table
	t.row(painted(v.style.bold, e.Name), plain("commit"), plain(cmp.Or(short(e.Commit), "-")), v.style.phase(e.Phase), plain(reasonOf(e.Environment)))
	if e.GitOps != nil {
		t.row(plain(""), plain("GitOps"), plain(cmp.Or(short(e.GitOps.Commit), "-")), v.style.gate(e.Gate))
	}
	return t.write(w)
}

// versions lists which versions of workloads ran where.
func (v view) versions(w io.Writer, versions []observing.Version) error {
	if len(versions) == 0 {
		_, err := fmt.Fprintln(w, "no workload's version was known; they come from DeploymentDescriptors in application GitOps repositories")
		return err
	}
	style := v.style
	var t table
	t.row(style.heads("ENVIRONMENT", "WORKLOAD", "TARGET", "VERSION", "STATE", "RECONCILERS", "SINCE")...)
	for _, r := range versions {
		t.row(plain(r.Environment), plain(r.Workload), plain(r.Target), plain(r.VersionState.Version.Version), style.state(r.State),
			plain(fmt.Sprint(r.Reconcilers)), plain(v.when(r.Since)))
	}
	return t.write(w)
}
