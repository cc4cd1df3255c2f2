package observing

import (
	"context"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/compliance"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// batch is how many clusters are read at once while those are looked for that a filter lets through.
const batch = 500

// Clusters returns clusters by name.
func (o *Observer) Clusters(ctx context.Context, q ClustersQuery) (Page[Cluster], error) {
	page := Page[Cluster]{Items: []Cluster{}}
	after, err := q.place()
	if err != nil {
		return page, err
	}
	if q.Environment != "" {
		if _, err := o.environment(ctx, "", q.Environment, q.AsOf); err != nil {
			return page, err
		}
	}
	v := o.verdicts(q.AsOf)
	want := q.limit() + 1 // one more tells whether there is another page
	size := want
	if len(q.Labels) > 0 || q.State != "" {
		size = max(want, batch)
	}
	for {
		clusters, err := o.Ledger.Clusters(ctx, ledger.ClusterQuery{
			Environment: q.Environment, ClusterType: q.ClusterType, AsOf: q.AsOf, After: after, Limit: size,
		})
		if err != nil {
			return page, err
		}
		for _, c := range clusters {
			after = c.Name
			if !hasLabels(c, q.Labels) {
				continue
			}
			shown, err := v.cluster(ctx, c, q.State != "")
			if err != nil {
				return page, err
			}
			if q.State != "" && !shown.stands(q.State, q.Environment) {
				continue
			}
			if len(page.Items)+1 == want {
				page.Next = cursor(page.Items[len(page.Items)-1].Name)
				return page, nil
			}
			page.Items = append(page.Items, shown)
		}
		if len(clusters) < size {
			return page, nil
		}
	}
}

// hasLabels reports whether a cluster has all labels that are wanted.
func hasLabels(c ledger.Cluster, labels map[string]string) bool {
	for name, value := range labels {
		if got, ok := c.Registration.Labels[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// stands reports whether a cluster is in a state in some membership, of an environment when it is not empty.
func (c *Cluster) stands(state compliance.State, environment string) bool {
	return slices.ContainsFunc(c.Memberships, func(m Membership) bool {
		return m.State == state && (environment == "" || m.Environment == environment)
	})
}

// cluster is a cluster as it is shown. all says that the verdicts of all its environments will be asked for:
// then it is quicker to look at all members at once.
func (v *verdicts) cluster(ctx context.Context, c ledger.Cluster, all bool) (Cluster, error) {
	shown := Cluster{
		Name: c.Name, Registered: c.Registered, Revoked: c.Registration.Revoked, Labels: c.Registration.Labels,
		Memberships: []Membership{},
	}
	if v.asOf.IsZero() {
		shown.LastHeard = utc(c.LastHeard)
	}
	judged := false
	for _, m := range c.Registration.Memberships {
		member := Membership{Environment: m.Environment, ClusterType: m.ClusterType}
		if c.Registered {
			if err := v.judgeMember(ctx, c, &member, all); err != nil {
				return shown, err
			}
		}
		shown.Memberships = append(shown.Memberships, member)
		judged = judged || member.State != ""
		shown.Offline = shown.Offline || member.State == compliance.Offline
	}
	// A gate may bear a longer silence; where there is none to ask, the usual one counts.
	if !judged && v.asOf.IsZero() {
		shown.Offline = v.Now().Sub(c.LastHeard) >= compliance.DefaultOfflineAfter
	}
	return shown, nil
}

// judgeMember says how a member stands to what it should run.
func (v *verdicts) judgeMember(ctx context.Context, c ledger.Cluster, m *Membership, all bool) error {
	if all {
		if err := v.judgeAll(ctx, m.Environment); err != nil {
			return err
		}
	}
	reconcilers, err := v.some(ctx, m.Environment, c)
	if err != nil {
		return err
	}
	m.Wanted = v.environments[m.Environment].commit()
	for _, r := range reconcilers {
		if r.ClusterType == m.ClusterType && r.Target == "" {
			m.Running, m.Reconciler, m.State, m.Reason, m.Since = runs(r), r.Name, r.State, r.Reason, utc(r.Since)
		}
	}
	return nil
}

// judgeAll judges all members of an environment, once.
func (v *verdicts) judgeAll(ctx context.Context, environment string) error {
	j, err := v.of(ctx, environment)
	if err != nil || j.known != nil || j.head == nil {
		return err
	}
	verdict, err := v.everybody(ctx, environment)
	j.known = &verdict
	return err
}

// runs is what a reconciler says that it runs.
func runs(r compliance.Reconciler) string {
	if r.Revision.Hash != "" {
		return r.Revision.Hash
	}
	return r.Revision.Name
}

// Cluster returns one cluster.
func (o *Observer) Cluster(ctx context.Context, q ClusterQuery) (ClusterDetail, error) {
	d := ClusterDetail{Reconcilers: []Reconciler{}}
	found, err := o.Ledger.Clusters(ctx, ledger.ClusterQuery{Name: q.Name, AsOf: q.AsOf, Limit: 1})
	if err != nil {
		return d, err
	}
	if q.Name == "" || len(found) == 0 {
		return d, o.unknownIn(ctx, ledger.NameCluster, q.Name)
	}
	if d.Cluster, err = o.verdicts(q.AsOf).cluster(ctx, found[0], false); err != nil {
		return d, err
	}
	d.RegisteredAt, d.RegisteredBy = utc(found[0].Registration.At), found[0].Registration.By
	states, err := o.Ledger.States(ctx, ledger.StateQuery{Cluster: q.Name, AsOf: q.AsOf, Limit: MaxLimit})
	if err != nil {
		return d, err
	}
	for _, s := range states.States {
		d.Reconcilers = append(d.Reconcilers, reconcilerOf(s))
	}
	slices.SortFunc(d.Reconcilers, func(a, b Reconciler) int { return strings.Compare(a.key(), b.key()) })
	history, err := o.History(ctx, HistoryQuery{Cluster: q.Name, To: until(q.AsOf), Paging: Paging{Limit: lastEvents}})
	d.Timeline = history.Items
	return d, err
}
