package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Cluster prints one cluster: its registration, memberships, reconcilers and latest events.
func (v Printer) Cluster(w io.Writer, d query.ClusterDetail) error {
	err := errors.Join(v.clusterHead(w, d), v.memberships(w, d.Memberships))
	v.findings(w, []query.Cluster{d.Cluster})
	err = errors.Join(err, v.reconcilers(w, d.Reconcilers), v.unhealthy(w, d.Reconcilers))
	if err != nil || len(d.Timeline) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return v.Events(w, d.Timeline)
}

func (v Printer) clusterHead(w io.Writer, d query.ClusterDetail) error {
	s := v.style
	var t terminal.Table
	t.Row(terminal.Painted(s.Bold, d.Name))
	switch {
	case d.Revoked:
		t.Row(terminal.Plain("registered"), terminal.Painted(s.Red, "revoked"))
	case !d.Registered:
		t.Row(terminal.Plain("registered"), terminal.Painted(s.Yellow, "no: its reports are stored, but not counted"))
	default:
		t.Row(terminal.Plain("registered"), terminal.Plain(v.When(d.RegisteredAt)+terminal.ByUser(d.RegisteredBy)))
	}
	reported := terminal.Plain(v.ago(d.LastHeard))
	if d.Offline {
		reported = terminal.Painted(s.Red, reported.Text+", offline: what it runs is unknown")
	}
	t.Row(terminal.Plain("last report"), reported)
	if d.ReportedBy != "" {
		t.Row(terminal.Plain("reported by"), terminal.Plain(d.ReportedBy))
	}
	if len(d.Labels) > 0 {
		t.Row(terminal.Plain("labels"), terminal.Plain(terminal.Labels(d.Labels)))
	}
	return t.Write(w)
}

func (v Printer) memberships(w io.Writer, all []query.Membership) error {
	if len(all) == 0 {
		return nil
	}
	s := v.style
	var t terminal.Table
	t.Row(s.Heads("MEMBER OF", "STATE", "SINCE", "WANTED", "RUNNING", "REASON")...)
	for _, m := range all {
		t.Row(terminal.Plain(memberOf(m)), standingCell(s, m.State), terminal.Plain(v.When(m.Since)),
			terminal.Plain(cmp.Or(terminal.Short(m.Wanted), "-")), terminal.Plain(cmp.Or(terminal.Short(m.Running), "-")+tried(m)), terminal.Plain(terminal.ShortHashes(m.Reason)))
	}
	fmt.Fprintln(w)
	return t.Write(w)
}

// memberOf returns a membership, with the ring of the cluster and the folder that it has of its own.
func memberOf(m query.Membership) string {
	text := m.Environment + "/" + m.ClusterType
	if m.Ring != "" {
		text += " ring " + m.Ring
	}
	if m.Branch != "" {
		text += " branch " + m.Branch
	}
	if m.Folder != "" {
		text += " in " + m.Folder
	}
	return text
}

// findings prints how registrations differ from the control plane.
func (v Printer) findings(w io.Writer, clusters []query.Cluster) {
	first := true
	for _, c := range clusters {
		for _, m := range c.Memberships {
			if m.Finding == "" {
				continue
			}
			if first {
				fmt.Fprintln(w)
				first = false
			}
			fmt.Fprintf(w, "%s %s of %s: %s\n", v.style.Yellow("!"), terminal.Printable(c.Name), terminal.Printable(m.Environment+"/"+m.ClusterType), terminal.Printable(m.Finding))
		}
	}
}

func (v Printer) reconcilers(w io.Writer, all []query.Reconciler) error {
	fmt.Fprintln(w)
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no reconcilers reported yet; run kalypso-agent in the cluster")
		return err
	}
	s := v.style
	var t terminal.Table
	t.Row(s.Heads("RECONCILER", "STATE", "SINCE", "REVISION", "FOLLOWS", "MESSAGE")...)
	for _, r := range all {
		id := ledger.ReconcilerID{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		t.Row(terminal.Plain(reconcilerName(id)), stateCell(s, r.State), terminal.Plain(v.When(r.Since)), terminal.Plain(cmp.Or(shortRevision(r.Revision), "-")),
			terminal.Plain(follows(r.Source)), terminal.Plain(r.Message))
	}
	return t.Write(w)
}

// unhealthy prints the objects that are not healthy, of all reconcilers.
func (v Printer) unhealthy(w io.Writer, all []query.Reconciler) error {
	s := v.style
	var t terminal.Table
	for _, r := range all {
		for _, o := range r.Unhealthy {
			if len(t.Rows) == 0 {
				fmt.Fprintln(w)
				t.Row(s.Heads("OBJECT", "HEALTH", "RECONCILER", "MESSAGE")...)
			}
			t.Row(terminal.Plain(reconcilerName(ledger.ReconcilerID{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})), healthCell(s, o.Health),
				terminal.Plain(reconcilerName(ledger.ReconcilerID{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})), terminal.Plain(o.Message))
		}
	}
	return t.Write(w)
}

// healthCell returns the health of an object in its color.
func healthCell(s terminal.Style, health hub.Health) terminal.Cell {
	if health == hub.HealthDegraded {
		return terminal.Painted(s.Red, string(health))
	}
	return terminal.Painted(s.Yellow, string(cmp.Or(health, hub.HealthUnknown)))
}

func reconcilerName(id ledger.ReconcilerID) string {
	name := id.Name
	if id.Namespace != "" {
		name = id.Namespace + "/" + id.Name
	}
	return id.Kind + " " + name
}

// shortRevision shortens commits and digests, not versions.
func shortRevision(revision string) string {
	if len(revision) == 40 || len(revision) == 64 {
		return terminal.Short(revision)
	}
	return revision
}

// follows returns the source of a reconciler: repository@branch:path.
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

// stateCell returns the state of a reconciler in its color.
func stateCell(s terminal.Style, state ledger.State) terminal.Cell {
	switch state {
	case ledger.StateReady:
		return terminal.Painted(s.Green, string(state))
	case ledger.StateFailed:
		return terminal.Painted(s.Red, string(state))
	}
	return terminal.Painted(s.Yellow, string(state))
}

// Clusters prints clusters, a row for each membership.
func (v Printer) Clusters(w io.Writer, clusters []query.Cluster) error {
	if len(clusters) == 0 {
		_, err := fmt.Fprintln(w, "no clusters; add one with kalypso cluster register NAME --member ENVIRONMENT/CLUSTERTYPE")
		return err
	}
	s := v.style
	var t terminal.Table
	t.Row(s.Heads("CLUSTER", "LAST REPORT", "MEMBER OF", "STATE", "LABELS")...)
	for _, one := range clusters {
		reported := terminal.Plain(v.ago(one.LastHeard))
		if one.Offline {
			reported = terminal.Painted(s.Red, reported.Text)
		}
		first := []terminal.Cell{terminal.Plain(one.Name), reported}
		for i, m := range one.Memberships {
			if i > 0 {
				first = []terminal.Cell{terminal.Plain(""), terminal.Plain("")}
			}
			row := append(first, terminal.Plain(memberOf(m)), standingCell(s, m.State))
			if i == 0 {
				row = append(row, terminal.Painted(s.Dim, terminal.Labels(one.Labels)))
			}
			t.Row(row...)
		}
		if len(one.Memberships) == 0 {
			t.Row(append(first, terminal.Painted(s.Dim, unregistered(one)), terminal.Plain(""), terminal.Painted(s.Dim, terminal.Labels(one.Labels)))...)
		}
	}
	err := t.Write(w)
	v.findings(w, clusters)
	return err
}

// unregistered returns why a cluster has no memberships.
func unregistered(c query.Cluster) string {
	switch {
	case c.Revoked:
		return "revoked"
	case !c.Registered:
		return "unknown"
	}
	return "-"
}

// tried names the revision that a reconciler has not applied.
func tried(m query.Membership) string {
	if m.Tried == "" {
		return ""
	}
	return ", tried " + terminal.Short(m.Tried)
}
