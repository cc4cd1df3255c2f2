package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/observing"
)

// eventText shows what happened for people, one line an event.
type eventText struct{ t *terminal }

func (e eventText) write(w io.Writer, events []observing.Event) error {
	var t table
	for _, event := range events {
		t.row(painted(e.t.outStyle.dim, e.t.when(event.At)), e.kind(event), plain(e.line(event)))
	}
	return t.write(w)
}

// kind is what an event is about, in the colour of how it is.
func (e eventText) kind(event observing.Event) cell {
	s := e.t.outStyle
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

// thenText shows how something was at a time.
type thenText struct{ t *terminal }

func (s thenText) write(w io.Writer, at *then) error {
	fmt.Fprintf(w, "as of %s\n\n", s.t.when(at.AsOf))
	if at.Cluster != nil {
		return clusterText(s).write(w, *at.Cluster)
	}
	if e := at.Environment; e != nil {
		var t table
		t.row(painted(s.t.outStyle.bold, e.Name), plain("commit"), plain(cmp.Or(short(e.Commit), "-")), s.t.outStyle.phase(e.Phase), plain(reasonOf(e.Environment)))
		if e.GitOps != nil {
			t.row(plain(""), plain("GitOps"), plain(cmp.Or(short(e.GitOps.Commit), "-")), s.t.outStyle.gate(e.Gate))
		}
		if err := t.write(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return s.versions(w, at.Versions)
}

func (s thenText) versions(w io.Writer, versions []observing.Version) error {
	if len(versions) == 0 {
		_, err := fmt.Fprintln(w, "no workload's version was known; they come from DeploymentDescriptors in application GitOps repositories")
		return err
	}
	style := s.t.outStyle
	var t table
	t.row(style.heads("ENVIRONMENT", "WORKLOAD", "TARGET", "VERSION", "STATE", "RECONCILERS", "SINCE")...)
	for _, v := range versions {
		t.row(plain(v.Environment), plain(v.Workload), plain(v.Target), plain(v.VersionState.Version.Version), style.state(v.State),
			plain(fmt.Sprint(v.Reconcilers)), plain(s.t.when(v.Since)))
	}
	return t.write(w)
}
