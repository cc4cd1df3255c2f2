package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/schedule/pull"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// Cluster summarizes a cluster.
type Cluster struct {
	Name string `json:"name"`
	// Registered is false for a cluster that only reported or was revoked.
	Registered bool              `json:"registered"`
	Revoked    bool              `json:"revoked,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	// ReportedBy is the cluster that reports for it; empty if it reports itself.
	ReportedBy string `json:"reportedBy,omitempty"`
	// LastHeard is when it last reported; zero means never, or that the answer is about the past.
	LastHeard time.Time `json:"lastHeard,omitzero"`
	// Offline means that this is too long ago.
	Offline bool `json:"offline"`
	// Memberships are sorted by environment and cluster type.
	Memberships []Membership `json:"memberships"`
}

// Membership is an environment and cluster type that a cluster serves, with its state there.
type Membership struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	// Wanted is the commit of the GitOps branch that it should run; empty before the first one.
	Wanted string `json:"wanted,omitempty"`
	// Running is the revision that its reconciler applied last, which is what is in the cluster; empty if that is
	// not known.
	Running string `json:"running,omitempty"`
	// Tried is the revision that the reconciler follows, if it has not applied that one.
	Tried string `json:"tried,omitempty"`
	// Reconciler is its kind, namespace and name in the cluster.
	Reconciler string `json:"reconciler,omitempty"`
	// State is empty before the first commit.
	State comply.State `json:"state,omitempty"`
	// Unpublished means that no manifests were ever merged into the environment's GitOps branch, so that its reconciler has nothing to apply.
	Unpublished bool `json:"unpublished,omitempty"`
	// Reason explains the state.
	Reason string `json:"reason,omitempty"`
	// Since is when the state began; zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// Folder is the folder that the cluster has of its own in the GitOps branch; empty if it shares that of its type.
	Folder string `json:"folder,omitempty"`
	// Ring is its ring in the GitOps branch, or else the one in its Cluster object.
	Ring string `json:"ring,omitempty"`
	// Branch is the branch of its ring, which it follows; empty in an environment without rings.
	Branch string `json:"branch,omitempty"`
	// Finding says how the registration differs from the Cluster object in Git; empty if it does not.
	Finding string `json:"finding,omitempty"`
}

// ClusterObject is what the Cluster object of a cluster says in an environment.
type ClusterObject struct {
	ClusterType string            `json:"clusterType"`
	Labels      map[string]string `json:"labels,omitempty"`
	Ring        string            `json:"ring,omitempty"`
	// Folder is the folder that the cluster has of its own in the GitOps branch; empty if it shares that of its type.
	Folder string `json:"folder,omitempty"`
	// Pull is the folder with the objects by which the cluster pulls, and Branch the branch that they follow, in an environment with rings.
	Pull   string `json:"pull,omitempty"`
	Branch string `json:"branch,omitempty"`
}

// clusterObject returns what the Cluster object of a cluster says; nil if there is none.
func (s *Scheduled) clusterObject(name string) *ClusterObject {
	if s == nil || s.Snapshot == nil || name == "" {
		return nil
	}
	c := s.Snapshot.Cluster(name)
	if c == nil {
		return nil
	}
	object := &ClusterObject{ClusterType: c.Type, Labels: c.Labels, Ring: c.Ring}
	if s.Outcome == nil || s.Outcome.Bundle == nil {
		return object
	}
	published := s.Outcome.Bundle.Published()
	if published.HasCluster(name) {
		object.Folder = fleet.ClusterFolder(name)
	}
	if published.HasPull(name) {
		object.Pull = pull.Folder(name)
	}
	if rings, _ := published.Rings(); rings != nil {
		stage := rings.Stage(name)
		object.Ring = fleet.RingOfStage(stage)
		if stage != "" {
			object.Branch = fleet.RingBranch(s.Snapshot.Environment, stage)
		}
	}
	return object
}

// ClusterDetail is a cluster with its reconcilers and history.
type ClusterDetail struct {
	Cluster
	// RegisteredAt and RegisteredBy are those of the registration in force.
	RegisteredAt time.Time `json:"registeredAt,omitzero"`
	RegisteredBy string    `json:"registeredBy,omitempty"`
	// Reconcilers are sorted by kind, namespace and name, at most MaxLimit.
	Reconcilers []Reconciler `json:"reconcilers"`
	// Timeline has the last events, the newest first, at most 20.
	Timeline []Event `json:"timeline"`
}

// ClustersQuery selects clusters. Empty fields match all.
type ClustersQuery struct {
	Environment string       `query:"environment" maxLength:"253" doc:"Only clusters that serve this environment."`
	ClusterType string       `query:"clusterType" maxLength:"253" doc:"Only clusters of this cluster type."`
	State       comply.State `query:"state" enum:"reached,behind,failed,offline,missing" doc:"Only clusters in this state in any membership, or in the given environment."`
	AsOf        time.Time    `query:"asOf" doc:"Clusters at this time. Default: now."`
	// Labels must all match.
	Labels map[string]string
	Paging
}

// ClusterQuery identifies a cluster.
type ClusterQuery struct {
	Name string    `path:"name" maxLength:"253" doc:"Name of the cluster."` // required
	AsOf time.Time `query:"asOf" doc:"The cluster at this time. Default: now."`
}

// Clusters returns clusters by name.
func (o *Observer) Clusters(ctx context.Context, q ClustersQuery) (Page[Cluster], error) {
	page := Page[Cluster]{Items: []Cluster{}}
	if err := o.knows(q.AsOf); err != nil {
		return page, err
	}
	place, err := q.Place()
	if err != nil {
		return page, err
	}
	if q.Environment != "" {
		if _, err := o.environment(ctx, "", q.Environment, q.AsOf); err != nil {
			return page, err
		}
	}
	v := o.verdicts(q.AsOf)
	var all []ledger.Cluster
	switch matching := (ledger.ClusterQuery{Environment: q.Environment, ClusterType: q.ClusterType, AsOf: q.AsOf}); {
	case q.State != "":
		all, err = v.inState(ctx, &q)
	case len(q.Labels) > 0:
		all, err = o.Ledger.Clusters(ctx, matching)
	default:
		// One more than the page means that there is another page.
		matching.Natural, matching.After, matching.Limit = true, place, q.limit()+1
		all, err = o.Ledger.Clusters(ctx, matching)
	}
	if err != nil {
		return page, err
	}
	all = slices.DeleteFunc(all, func(c ledger.Cluster) bool { return !hasLabels(c, q.Labels) })
	chosen, err := cut(all, q.Paging, func(c *ledger.Cluster) string { return names(c.Name) })
	page.Next = chosen.Next
	for _, c := range chosen.Items {
		shown, err := v.cluster(ctx, c)
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, shown)
	}
	return page, err
}

// inState returns the clusters in a state. It reads only those that the verdicts name.
func (v *verdicts) inState(ctx context.Context, q *ClustersQuery) ([]ledger.Cluster, error) {
	environments, err := v.selected(ctx, q.Environment, q.AsOf)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, e := range environments {
		if err := v.judgeAll(ctx, e.name); err != nil {
			return nil, err
		}
		known := v.environments[e.name].known
		for i := 0; known != nil && i < len(known.Reconcilers); i++ {
			r := &known.Reconcilers[i]
			if r.State == q.State && (q.ClusterType == "" || q.ClusterType == r.ClusterType) {
				wanted[r.Cluster] = true
			}
		}
	}
	if len(wanted) > fewClusters {
		all, err := v.Ledger.Clusters(ctx, ledger.ClusterQuery{Environment: q.Environment, AsOf: q.AsOf})
		return slices.DeleteFunc(all, func(c ledger.Cluster) bool { return !wanted[c.Name] }), err
	}
	var all []ledger.Cluster
	for name := range wanted {
		found, err := v.Ledger.Clusters(ctx, ledger.ClusterQuery{Name: name, AsOf: q.AsOf})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// fewClusters is how many clusters are read one by one; more are faster to read together.
const fewClusters = 50

// hasLabels reports whether a cluster has all labels.
func hasLabels(c ledger.Cluster, labels map[string]string) bool {
	for name, value := range labels {
		if got, ok := c.Registration.Labels[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// cluster returns a cluster for answers.
func (v *verdicts) cluster(ctx context.Context, c ledger.Cluster) (Cluster, error) {
	shown := Cluster{
		Name: c.Name, Registered: c.Registered, Revoked: c.Registration.Revoked, Labels: c.Registration.Labels,
		ReportedBy: c.Registration.ReportedBy, Memberships: []Membership{},
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
		if c.Registered && v.asOf.IsZero() {
			v.compareObject(&c, &member)
		}
		shown.Memberships = append(shown.Memberships, member)
		judged = judged || member.State != ""
		shown.Offline = shown.Offline || member.State == comply.Offline
	}
	// A gate may set another time; without a gate, the default counts.
	if !judged && v.asOf.IsZero() {
		shown.Offline = promote.ClusterOf(c).Silent(v.Now()) >= comply.DefaultOfflineAfter
	}
	return shown, nil
}

// compareObject adds what the Cluster object says, and whether the registration differs from it.
func (v *verdicts) compareObject(c *ledger.Cluster, m *Membership) {
	object := v.environments[m.Environment].scheduled.clusterObject(c.Name)
	if object == nil {
		return
	}
	m.Ring, m.Branch = object.Ring, object.Branch
	for _, r := range v.environments[m.Environment].rings {
		if r.Branch == m.Branch && r.Commit != "" {
			m.Wanted = r.Commit
		}
	}
	switch {
	case object.ClusterType == m.ClusterType:
		m.Folder = object.Folder
	case !slices.Contains(c.Registration.Memberships, ledger.Membership{Environment: m.Environment, ClusterType: object.ClusterType}):
		m.Finding = fmt.Sprintf("its Cluster object says cluster type %s; register it as that, or correct the object", object.ClusterType)
	}
}

// judgeMember sets the state of a membership.
func (v *verdicts) judgeMember(ctx context.Context, c ledger.Cluster, m *Membership) error {
	reconcilers, err := v.clusterReconcilers(ctx, m.Environment, c)
	if err != nil {
		return err
	}
	j := v.environments[m.Environment]
	m.Wanted, m.Unpublished = j.commit(), j.unpublished
	for _, r := range reconcilers {
		if r.ClusterType == m.ClusterType && r.Target == "" {
			m.Running, m.Reconciler, m.State, m.Reason, m.Since = nameOf(r.Applied), r.Name, r.State, r.Reason, utc(r.Since)
			if r.Applied != r.Revision {
				m.Tried = nameOf(r.Revision)
			}
		}
	}
	return nil
}

// judgeAll judges all members of an environment once.
func (v *verdicts) judgeAll(ctx context.Context, environment string) error {
	j, err := v.of(ctx, environment)
	if err != nil || j.known != nil || j.head == nil {
		return err
	}
	verdict, err := v.allMembers(ctx, environment)
	j.known = &verdict
	return err
}

// nameOf returns the hash of a revision, or else its name.
func nameOf(r revisions.Revision) string { return cmp.Or(r.Hash, r.Name) }

// Cluster returns one cluster.
func (o *Observer) Cluster(ctx context.Context, q ClusterQuery) (ClusterDetail, error) {
	d := ClusterDetail{Reconcilers: []Reconciler{}}
	if err := o.knows(q.AsOf); err != nil {
		return d, err
	}
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
