package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/observing"
)

// clusterShowCommand is "kalypso cluster show".
type clusterShowCommand struct {
	t      *terminal
	place  placeFlags
	output *output
}

func newClusterShow(t *terminal) *cobra.Command {
	c := &clusterShowCommand{t: t}
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show what a cluster runs, what it should run, and what happened last",
		Example: `  kalypso cluster show large-07`,
		Args:    exactly("NAME"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.place.bind(cmd)
	c.output = outputFlag(cmd, formatText, formatJSON, formatYAML)
	return cmd
}

func (c *clusterShowCommand) run(cmd *cobra.Command, name string) error {
	who, err := c.place.ask(cmd, c.t)
	if err != nil {
		return err
	}
	detail, err := who.Cluster(cmd.Context(), observing.ClusterQuery{Name: name})
	if err := errors.Join(answered(err), who.close()); err != nil {
		return err
	}
	return c.output.write(c.t.out, detail, func(w io.Writer) error { return clusterText{c.t}.write(w, detail) })
}

// clusterText shows a cluster for people.
type clusterText struct{ t *terminal }

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
	return eventText(c).write(w, d.Timeline)
}

func (c clusterText) head(w io.Writer, d observing.ClusterDetail) error {
	s := c.t.outStyle
	var t table
	t.row(painted(s.bold, d.Name))
	switch {
	case d.Revoked:
		t.row(plain("registered"), painted(s.red, "revoked"))
	case !d.Registered:
		t.row(plain("registered"), painted(s.yellow, "no: what it reports is kept, and counts nowhere"))
	default:
		t.row(plain("registered"), plain(c.t.when(d.RegisteredAt)+byWhom(d.RegisteredBy)))
	}
	heard := plain(c.t.ago(d.LastHeard))
	if d.Offline {
		heard = painted(s.red, heard.text+", so it is offline: what it runs, nobody knows")
	}
	t.row(plain("heard"), heard)
	if len(d.Labels) > 0 {
		t.row(plain("labels"), plain(labels(d.Labels)))
	}
	return t.write(w)
}

// byWhom names who did something, where that is known.
func byWhom(who string) string {
	if who == "" {
		return ""
	}
	return ", by " + who
}

func (c clusterText) memberships(w io.Writer, all []observing.Membership) error {
	if len(all) == 0 {
		return nil
	}
	s := c.t.outStyle
	var t table
	t.row(s.heads("MEMBER OF", "STATE", "SINCE", "WANTED", "RUNNING", "REASON")...)
	for _, m := range all {
		t.row(plain(m.Environment+"/"+m.ClusterType), s.standing(m.State), plain(c.t.when(m.Since)),
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
	s := c.t.outStyle
	var t table
	t.row(s.heads("RECONCILER", "STATE", "SINCE", "REVISION", "FOLLOWS", "MESSAGE")...)
	for _, r := range all {
		id := ledger.ReconcilerID{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		t.row(plain(reconcilerName(id)), s.state(r.State), plain(c.t.when(r.Since)), plain(cmp.Or(shortRevision(r.Revision), "-")),
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
