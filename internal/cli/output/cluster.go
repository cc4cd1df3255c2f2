package output

import (
	"cmp"
	"fmt"
	"io"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Cluster shows one cluster: who it is, what it should run, what its reconcilers say, and what happened last.
func (v View) Cluster(w io.Writer, d query.ClusterDetail) error {
	return clusterText{v}.write(w, d)
}

// clusterText shows a cluster for people.
type clusterText struct{ View }

func (c clusterText) write(w io.Writer, d query.ClusterDetail) error {
	if err := c.head(w, d); err != nil {
		return err
	}
	if err := c.memberships(w, d.Memberships); err != nil {
		return err
	}
	if err := c.reconcilers(w, d.Reconcilers); err != nil {
		return err
	}
	if len(d.Timeline) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return c.Events(w, d.Timeline)
}

func (c clusterText) head(w io.Writer, d query.ClusterDetail) error {
	s := c.style
	var t terminal.Table
	t.Row(terminal.Painted(s.Bold, d.Name))
	switch {
	case d.Revoked:
		t.Row(terminal.Plain("registered"), terminal.Painted(s.Red, "revoked"))
	case !d.Registered:
		t.Row(terminal.Plain("registered"), terminal.Painted(s.Yellow, "no: what it reports is kept, and counts nowhere"))
	default:
		t.Row(terminal.Plain("registered"), terminal.Plain(c.When(d.RegisteredAt)+terminal.ByWhom(d.RegisteredBy)))
	}
	heard := terminal.Plain(c.ago(d.LastHeard))
	if d.Offline {
		heard = terminal.Painted(s.Red, heard.Text+", so it is offline: what it runs, nobody knows")
	}
	t.Row(terminal.Plain("heard"), heard)
	if len(d.Labels) > 0 {
		t.Row(terminal.Plain("labels"), terminal.Plain(terminal.Labels(d.Labels)))
	}
	return t.Write(w)
}

func (c clusterText) memberships(w io.Writer, all []query.Membership) error {
	if len(all) == 0 {
		return nil
	}
	s := c.style
	var t terminal.Table
	t.Row(s.Heads("MEMBER OF", "STATE", "SINCE", "WANTED", "RUNNING", "REASON")...)
	for _, m := range all {
		t.Row(terminal.Plain(m.Environment+"/"+m.ClusterType), standingCell(s, m.State), terminal.Plain(c.When(m.Since)),
			terminal.Plain(cmp.Or(terminal.Short(m.Wanted), "-")), terminal.Plain(cmp.Or(terminal.Short(m.Running), "-")), terminal.Plain(terminal.ShortHashes(m.Reason)))
	}
	fmt.Fprintln(w)
	return t.Write(w)
}

func (c clusterText) reconcilers(w io.Writer, all []query.Reconciler) error {
	fmt.Fprintln(w)
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "it has not reported any reconciler yet; kalypso agent does that")
		return err
	}
	s := c.style
	var t terminal.Table
	t.Row(s.Heads("RECONCILER", "STATE", "SINCE", "REVISION", "FOLLOWS", "MESSAGE")...)
	for _, r := range all {
		id := ledger.ReconcilerID{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		t.Row(terminal.Plain(reconcilerName(id)), stateCell(s, r.State), terminal.Plain(c.When(r.Since)), terminal.Plain(cmp.Or(shortRevision(r.Revision), "-")),
			terminal.Plain(follows(r.Source)), terminal.Plain(r.Message))
	}
	return t.Write(w)
}

// reconcilerName is what a cluster calls a reconciler, without the cluster.
func reconcilerName(id ledger.ReconcilerID) string {
	name := id.Name
	if id.Namespace != "" {
		name = id.Namespace + "/" + id.Name
	}
	return id.Kind + " " + name
}

// shortRevision shortens commits and digests; versions stay.
func shortRevision(revision string) string {
	if len(revision) == 40 || len(revision) == 64 {
		return terminal.Short(revision)
	}
	return revision
}

// follows says what a reconciler follows: repository@branch:path.
func follows(s ledger.Source) string {
	text := s.Repository
	if s.Ref != "" {
		text += "@" + s.Ref
	}
	if s.Path != "" {
		text += ":" + s.Path
	}
	return cmp.Or(text, "nothing")
}

// stateCell is how a reconciler is doing.
func stateCell(s terminal.Style, state ledger.State) terminal.Cell {
	switch state {
	case ledger.StateReady:
		return terminal.Painted(s.Green, string(state))
	case ledger.StateFailed:
		return terminal.Painted(s.Red, string(state))
	}
	return terminal.Painted(s.Yellow, string(state))
}
