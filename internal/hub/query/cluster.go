package query

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// Cluster is a cluster at a glance.
type Cluster struct {
	Name string `json:"name"`
	// Registered is false for one that was only heard of, and for one that was revoked.
	Registered bool              `json:"registered"`
	Revoked    bool              `json:"revoked,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	// LastHeard is when it was last heard of; zero means never, and that a time in the past is asked about.
	LastHeard time.Time `json:"lastHeard,omitzero"`
	// Offline says that this is too long ago: nobody knows what it runs.
	Offline bool `json:"offline"`
	// Memberships are its roles, by environment and cluster type.
	Memberships []Membership `json:"memberships"`
}

// Membership is one role of a cluster, and whether it does what it should in it.
type Membership struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	// Wanted is the commit of the GitOps branch that it should run; empty before the first one.
	Wanted string `json:"wanted,omitempty"`
	// Running is what its reconciler says it runs; empty when nothing is known to follow the branch.
	Running string `json:"running,omitempty"`
	// Reconciler is what the cluster calls it.
	Reconciler string `json:"reconciler,omitempty"`
	// State is empty before there is anything to run.
	State comply.State `json:"state,omitempty"`
	// Reason says why, in words.
	Reason string `json:"reason,omitempty"`
	// Since is when the state began; zero when that is not known.
	Since time.Time `json:"since,omitzero"`
}

// ClusterDetail is everything about one cluster that fits on a page.
type ClusterDetail struct {
	Cluster
	// RegisteredAt and RegisteredBy are those of the registration in force.
	RegisteredAt time.Time `json:"registeredAt,omitzero"`
	RegisteredBy string    `json:"registeredBy,omitempty"`
	// Reconcilers are all it reported, by kind, namespace and name, at most MaxLimit of them.
	Reconcilers []Reconciler `json:"reconcilers"`
	// Timeline is what happened last, the newest first, at most 20 events.
	Timeline []Event `json:"timeline"`
}

// ClustersQuery says which clusters are wanted. Empty fields do not restrict.
type ClustersQuery struct {
	Environment string
	ClusterType string
	// Labels are those that a cluster must have.
	Labels map[string]string
	// State wants clusters that stand so in some membership (in Environment, when that is set).
	State comply.State
	// AsOf is the time of which they are wanted; zero means now.
	AsOf time.Time
	Paging
}

// ClusterQuery names a cluster.
type ClusterQuery struct {
	Name string // required
	// AsOf is the time of which it is wanted; zero means now.
	AsOf time.Time
}

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
	if q.State != "" {
		err := v.inState(ctx, &page, &q, after)
		return page, err
	}
	size := q.limit() + 1 // one more tells whether there is another page
	if len(q.Labels) > 0 {
		size = max(size, batch)
	}
	for {
		clusters, err := o.Ledger.Clusters(ctx, ledger.ClusterQuery{
			Environment: q.Environment, ClusterType: q.ClusterType, AsOf: q.AsOf, After: after, Limit: size,
		})
		if err != nil {
			return page, err
		}
		full, err := v.fill(ctx, &page, &q, clusters)
		if err != nil || full || len(clusters) < size {
			return page, err
		}
		after = clusters[len(clusters)-1].Name
	}
}

// fill adds those clusters to a page that are wanted, and reports whether there are more than it has room for.
func (v *verdicts) fill(ctx context.Context, page *Page[Cluster], q *ClustersQuery, clusters []ledger.Cluster) (full bool, err error) {
	for _, c := range clusters {
		if !hasLabels(c, q.Labels) {
			continue
		}
		if n := len(page.Items); n == q.limit() {
			page.Next = cursor(page.Items[n-1].Name)
			return true, nil
		}
		shown, err := v.cluster(ctx, c)
		if err != nil {
			return false, err
		}
		page.Items = append(page.Items, shown)
	}
	return false, nil
}

// inState fills a page with clusters that stand in a state. The verdicts say which they are, so that no other is looked at.
func (v *verdicts) inState(ctx context.Context, page *Page[Cluster], q *ClustersQuery, after string) error {
	environments, err := v.selected(ctx, q.Environment, q.AsOf)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range environments {
		if err := v.judgeAll(ctx, e.name); err != nil {
			return err
		}
		known := v.environments[e.name].known
		for i := 0; known != nil && i < len(known.Reconcilers); i++ {
			r := &known.Reconcilers[i]
			if r.State == q.State && r.Cluster > after && (q.ClusterType == "" || q.ClusterType == r.ClusterType) {
				names = append(names, r.Cluster)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		clusters, err := v.Ledger.Clusters(ctx, ledger.ClusterQuery{Name: name, AsOf: q.AsOf})
		if err != nil {
			return err
		}
		if full, err := v.fill(ctx, page, q, clusters); err != nil || full {
			return err
		}
	}
	return nil
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

// cluster is a cluster as it is shown.
func (v *verdicts) cluster(ctx context.Context, c ledger.Cluster) (Cluster, error) {
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
			if err := v.judgeMember(ctx, c, &member); err != nil {
				return shown, err
			}
		}
		shown.Memberships = append(shown.Memberships, member)
		judged = judged || member.State != ""
		shown.Offline = shown.Offline || member.State == comply.Offline
	}
	// A gate may bear a longer silence; where there is none to ask, the usual one counts.
	if !judged && v.asOf.IsZero() {
		shown.Offline = v.Now().Sub(c.LastHeard) >= comply.DefaultOfflineAfter
	}
	return shown, nil
}

// judgeMember says how a member stands to what it should run.
func (v *verdicts) judgeMember(ctx context.Context, c ledger.Cluster, m *Membership) error {
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
func runs(r comply.Reconciler) string {
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
	if d.Cluster, err = o.verdicts(q.AsOf).cluster(ctx, found[0]); err != nil {
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
