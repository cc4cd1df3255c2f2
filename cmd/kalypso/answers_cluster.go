package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/observing"
)

// cluster shows one cluster: who it is, what it should run, what its reconcilers say, and what happened last.
func (v view) cluster(w io.Writer, d observing.ClusterDetail) error {
	return clusterText{v}.write(w, d)
}

// clusterText shows a cluster for people.
type clusterText struct{ view }

func (c clusterText) write(w io.Writer, d observing.ClusterDetail) error {
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
	return c.events(w, d.Timeline)
}

func (c clusterText) head(w io.Writer, d observing.ClusterDetail) error {
	s := c.style
	var t table
	t.row(painted(s.bold, d.Name))
	switch {
	case d.Revoked:
		t.row(plain("registered"), painted(s.red, "revoked"))
	case !d.Registered:
		t.row(plain("registered"), painted(s.yellow, "no: what it reports is kept, and counts nowhere"))
	default:
		t.row(plain("registered"), plain(c.when(d.RegisteredAt)+byWhom(d.RegisteredBy)))
	}
	heard := plain(c.ago(d.LastHeard))
	if d.Offline {
		heard = painted(s.red, heard.text+", so it is offline: what it runs, nobody knows")
	}
	t.row(plain("heard"), heard)
	if len(d.Labels) > 0 {
		t.row(plain("labels"), plain(labels(d.Labels)))
	}
	return t.write(w)
}

func (c clusterText) memberships(w io.Writer, all []observing.Membership) error {
	if len(all) == 0 {
		return nil
	}
	s := c.style
	var t table
	t.row(s.heads("MEMBER OF", "STATE", "SINCE", "WANTED", "RUNNING", "REASON")...)
	for _, m := range all {
		t.row(plain(m.Environment+"/"+m.ClusterType), s.standing(m.State), plain(c.when(m.Since)),
			plain(cmp.Or(short(m.Wanted), "-")), plain(cmp.Or(short(m.Running), "-")), plain(shortHashes(m.Reason)))
	}
	fmt.Fprintln(w)
	return t.write(w)
}

func (c clusterText) reconcilers(w io.Writer, all []observing.Reconciler) error {
	fmt.Fprintln(w)
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "it has not reported any reconciler yet; kalypso agent does that")
		return err
	}
	s := c.style
	var t table
	t.row(s.heads("RECONCILER", "STATE", "SINCE", "REVISION", "FOLLOWS", "MESSAGE")...)
	for _, r := range all {
		id := ledger.ReconcilerID{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		t.row(plain(reconcilerName(id)), s.state(r.State), plain(c.when(r.Since)), plain(cmp.Or(shortRevision(r.Revision), "-")),
			plain(follows(r.Source)), plain(r.Message))
	}
	return t.write(w)
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
		return short(revision)
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

// state is how a reconciler is doing.
func (s style) state(state ledger.State) cell {
	switch state {
	case ledger.StateReady:
		return painted(s.green, string(state))
	case ledger.StateFailed:
		return painted(s.red, string(state))
	}
	return painted(s.yellow, string(state))
}
