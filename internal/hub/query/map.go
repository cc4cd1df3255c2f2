package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

// Map shows where workloads run: which policies assign them to which cluster types, in which rings their clusters are, and the state
// of all of them.
type Map struct {
	Environment  string `json:"environment"`
	ControlPlane string `json:"controlPlane,omitempty"`
	// Counts counts the clusters.
	Counts MapCounts `json:"counts"`
	// Workloads and Policies count the clusters of assignments: a cluster counts for each target that it should run.
	Workloads MapNodes `json:"workloads"`
	// Policies are empty if only the ledger is known.
	Policies MapNodes `json:"policies"`
	// ClusterTypes and Rings count clusters. Rings are in the order of rollouts; without rings, they are empty.
	ClusterTypes MapNodes `json:"clusterTypes"`
	Rings        MapNodes `json:"rings"`
	// WorkloadPolicies and PolicyTypes count like workloads. If policies are not known, their names are empty.
	WorkloadPolicies []MapLink `json:"workloadPolicies"`
	PolicyTypes      []MapLink `json:"policyTypes"`
	// TypeRings count clusters. Without rings, the names of rings are empty.
	TypeRings []MapLink `json:"typeRings"`
	// Clusters are a page of the clusters, the most urgent first, then by name in natural order.
	Clusters []MapCluster `json:"clusters"`
	// Reconcilers are those of the cluster in the query, at most MaxLimit; absent if the query has none.
	Reconcilers []Reconciler `json:"reconcilers,omitempty"`
	// Next is Paging.After of the next page of clusters; empty on the last one.
	Next string `json:"next,omitempty"`
}

// NextPage returns Next.
func (m Map) NextPage() string { return m.Next }

// MapState is a state of a cluster, or of a workload on it.
type MapState string

// The states, the most urgent first. A cluster has the first one that it is in, itself or with one of the workloads.
const (
	// MapFailed means that the cluster failed to apply what it should run.
	MapFailed MapState = "failed"
	// MapOffline means that its last report is too old; what it runs now is unknown.
	MapOffline MapState = "offline"
	// MapMissing means that it reports nothing about what it should run.
	MapMissing MapState = "missing"
	// MapBehind means that it runs another revision, or still applies this one.
	MapBehind MapState = "behind"
	// MapSuspended means that a workload's reconciler is suspended.
	MapSuspended MapState = "suspended"
	// MapUnknown means that the state is not known: nothing was published yet, the workload's source is not known, or only its
	// total is known.
	MapUnknown MapState = "unknown"
	// MapReady means that it runs what it should, by its last report.
	MapReady MapState = "ready"
)

// MapStates returns all states, the most urgent first.
func MapStates() []MapState {
	return []MapState{MapFailed, MapOffline, MapMissing, MapBehind, MapSuspended, MapUnknown, MapReady}
}

// MapCounts are numbers by state.
type MapCounts struct {
	Total     int `json:"total"`
	Failed    int `json:"failed,omitempty"`
	Offline   int `json:"offline,omitempty"`
	Missing   int `json:"missing,omitempty"`
	Behind    int `json:"behind,omitempty"`
	Suspended int `json:"suspended,omitempty"`
	Unknown   int `json:"unknown,omitempty"`
	Ready     int `json:"ready,omitempty"`
}

// Of returns the number in a state.
func (c MapCounts) Of(s MapState) int { return *c.of(s) }

func (c *MapCounts) of(s MapState) *int {
	switch s {
	case MapFailed:
		return &c.Failed
	case MapOffline:
		return &c.Offline
	case MapMissing:
		return &c.Missing
	case MapBehind:
		return &c.Behind
	case MapSuspended:
		return &c.Suspended
	case MapReady:
		return &c.Ready
	}
	return &c.Unknown
}

func (c *MapCounts) add(s MapState, n int) {
	c.Total += n
	*c.of(s) += n
}

// Plus returns the sum of two counts.
func (c MapCounts) Plus(d MapCounts) MapCounts {
	for _, s := range MapStates() {
		c.add(s, d.Of(s))
	}
	return c
}

// Worst returns the most urgent state that anything is in; [MapUnknown] if nothing is counted.
func (c MapCounts) Worst() MapState {
	for _, s := range MapStates() {
		if c.Of(s) > 0 {
			return s
		}
	}
	return MapUnknown
}

// MapNodes are nodes in natural order, at most MaxLimit: the most urgent ones.
type MapNodes struct {
	// Total is how many there are.
	Total int       `json:"total"`
	Items []MapNode `json:"items"`
}

// MapNode is a workload, a policy, a cluster type or a ring.
type MapNode struct {
	Name string `json:"name"`
	// Workspace is that of a workload.
	Workspace string `json:"workspace,omitempty"`
	// Assignments is the number of its published assignments, and Held how many of them keep published files because of a problem.
	Assignments int       `json:"assignments,omitempty"`
	Held        int       `json:"held,omitempty"`
	Counts      MapCounts `json:"counts"`
}

// MapLink connects two nodes.
type MapLink struct {
	From   string    `json:"from"`
	To     string    `json:"to"`
	Counts MapCounts `json:"counts"`
}

// MapCluster is a cluster as one cluster type.
type MapCluster struct {
	Name        string   `json:"name"`
	ClusterType string   `json:"clusterType"`
	Ring        string   `json:"ring,omitempty"`
	State       MapState `json:"state"`
	// Reason explains the state of its platform reconciler; empty if that runs what it should.
	Reason string `json:"reason,omitempty"`
	// Since is when the state began; zero if that is unknown, or the state is that of a workload.
	Since time.Time `json:"since,omitzero"`
	// Failed names targets that failed on it, at most five.
	Failed []string `json:"failed,omitempty"`
	// Targets counts the targets that are failed, behind, suspended or missing on it, and those whose state is not known.
	// The others are ready. Of a cluster that is offline, nothing is counted.
	Targets MapCounts `json:"targets"`
}

// MapQuery selects a part of the map. Empty fields match all.
type MapQuery struct {
	Environment  string   `query:"environment" required:"true" maxLength:"253" doc:"Name of the environment."` // required
	ControlPlane string   `query:"controlPlane" maxLength:"2048" doc:"URL of the control plane; required only if several have an environment of this name."`
	Workload     string   `query:"workload" maxLength:"253" doc:"Only this workload, and what belongs to it."`
	Workspace    string   `query:"workspace" maxLength:"253" doc:"Only workloads of this workspace, and what belongs to them."`
	Policy       string   `query:"policy" maxLength:"253" doc:"Only what this policy assigns, and what belongs to it."`
	ClusterType  string   `query:"clusterType" maxLength:"253" doc:"Only this cluster type, and what belongs to it."`
	Ring         string   `query:"ring" maxLength:"253" doc:"Only the clusters of this ring, and what belongs to them."`
	Cluster      string   `query:"cluster" maxLength:"253" doc:"Only this cluster, with its reconcilers, and what belongs to it."`
	State        MapState `query:"state" enum:"failed,offline,missing,behind,suspended,unknown,ready" doc:"Only clusters in this state, and what belongs to them."`
	// Labels must all match. Those of a cluster are in its registration, its Cluster object and its cluster type, in this order.
	Labels map[string]string
	Paging
}

// narrows reports whether only some assignments are selected.
func (q *MapQuery) narrows() bool { return q.Workload != "" || q.Workspace != "" || q.Policy != "" }

// maxMapPairs is how many pairs of target and cluster are read whose state cannot be concluded from what is not ready.
const maxMapPairs = 200_000

// Map returns the map of an environment.
func (o *Observer) Map(ctx context.Context, q MapQuery) (Map, error) {
	m := Map{
		Environment: q.Environment, WorkloadPolicies: []MapLink{}, PolicyTypes: []MapLink{}, TypeRings: []MapLink{}, Clusters: []MapCluster{},
	}
	if q.State != "" && !slices.Contains(MapStates(), q.State) {
		return m, fmt.Errorf("%w: unknown state %q", ledger.ErrInvalid, q.State)
	}
	after, err := q.Place()
	if err != nil {
		return m, err
	}
	s, err := o.oneEnvironment(ctx, q.ControlPlane, q.Environment, time.Time{})
	if err != nil {
		return m, err
	}
	m.ControlPlane = s.controlPlane
	sc, err := o.environmentView(ctx, s, targetFilter{workload: q.Workload, workspace: q.Workspace}, time.Time{})
	if err != nil {
		return m, err
	}
	b := mapBuilder{q: &q, view: sc}
	verdict, err := o.verdicts(time.Time{}).verdict(ctx, s)
	if err != nil {
		return m, err
	}
	if err := o.mapMembers(ctx, &b, &verdict); err != nil {
		return m, err
	}
	known, err := o.Ledger.Names(ctx, ledger.NameWorkload) // also those of other environments, of which there is nothing to show
	if err != nil {
		return m, err
	}
	if err := b.check(known); err != nil {
		return m, err
	}
	if err := o.mapTargets(ctx, &b); err != nil {
		return m, err
	}
	b.build(&m)
	if m.Clusters, m.Next, err = b.page(after); err != nil || q.Cluster == "" {
		return m, err
	}
	page, err := o.Reconcilers(ctx, ReconcilersQuery{Cluster: q.Cluster, Paging: Paging{Limit: MaxLimit}})
	slices.SortStableFunc(page.Items, func(a, b Reconciler) int {
		return cmp.Or(natural.Compare(a.Kind, b.Kind), natural.Compare(a.Namespace, b.Namespace), natural.Compare(a.Name, b.Name))
	})
	m.Reconcilers = page.Items
	return m, err
}

// mapMembers adds the clusters of the environment that match the query, except for its state.
func (o *Observer) mapMembers(ctx context.Context, b *mapBuilder, verdict *comply.Verdict) error {
	b.rings()
	if verdict.Commit != "" && len(b.q.Labels) == 0 {
		for i := range verdict.Reconcilers {
			if r := &verdict.Reconcilers[i]; r.Target == "" {
				b.addMember(memberOf(r), nil)
			}
		}
		return nil
	}
	clusters, err := o.Ledger.Clusters(ctx, ledger.ClusterQuery{Environment: b.q.Environment})
	for i := range clusters {
		c := &clusters[i]
		for _, m := range c.Registration.Memberships {
			if m.Environment != b.q.Environment {
				continue
			}
			shown := MapCluster{Name: c.Name, ClusterType: m.ClusterType, State: MapUnknown}
			for _, r := range ofCluster(verdict.Reconcilers, c.Name) {
				if r.ClusterType == m.ClusterType && r.Target == "" {
					shown = memberOf(&r)
				}
			}
			b.addMember(shown, c.Registration.Labels)
		}
	}
	return err
}

// mapTargets reads the states of targets on clusters. Of targets that all clusters report, it reads only what is not ready.
func (o *Observer) mapTargets(ctx context.Context, b *mapBuilder) error {
	unready, err := o.Ledger.MemberStates(ctx, ledger.MemberStatesQuery{Environment: b.q.Environment, Unready: true})
	if err != nil {
		return err
	}
	bySource := map[ledger.Source][]ledger.MemberStates{}
	for _, u := range unready {
		bySource[u.Source] = append(bySource[u.Source], u)
	}
	silent, err := b.view.silent()
	if err != nil {
		return err
	}
	left := maxMapPairs
	for i := range b.view.statuses {
		p := &b.view.statuses[i]
		t := mapTarget{targetStatus: p, rest: MapUnknown}
		_, expected := p.expected(b.view.members)
		_, mute := p.expected(silent)
		switch known := p.states(); {
		case p.source == (ledger.Source{}):
		case known.known() == expected-mute:
			t.rest, t.silent = MapReady, silent
			b.addStates(&t, bySource[p.source])
		case left >= expected:
			left -= expected
			all, err := o.Ledger.MemberStates(ctx, ledger.MemberStatesQuery{Environment: b.q.Environment, Source: p.source})
			if err != nil {
				return err
			}
			t.rest = MapMissing
			b.addStates(&t, all)
		default:
			b.addStates(&t, bySource[p.source])
		}
		b.targets = append(b.targets, t)
	}
	return nil
}

// page returns the clusters after a key.
func (b *mapBuilder) page(after string) ([]MapCluster, string, error) {
	var chosen []*mapMember
	for _, m := range b.members {
		if m.kept {
			chosen = append(chosen, m)
		}
	}
	states := MapStates()
	urgency := make(map[MapState]int, len(states))
	for i, s := range states {
		urgency[s] = i
	}
	compare := func(a, b *MapCluster) int {
		return cmp.Or(cmp.Compare(urgency[a.State], urgency[b.State]), natural.Compare(a.Name, b.Name), natural.Compare(a.ClusterType, b.ClusterType))
	}
	slices.SortFunc(chosen, func(x, y *mapMember) int { return compare(&x.MapCluster, &y.MapCluster) })
	from := 0
	if after != "" {
		parts := strings.Split(after, "\x00")
		if len(parts) != 3 {
			return nil, "", ErrCursor
		}
		last := MapCluster{State: MapState(parts[0]), Name: parts[1], ClusterType: parts[2]}
		from, _ = slices.BinarySearchFunc(chosen, &last, func(m *mapMember, last *MapCluster) int { return cmp.Or(compare(&m.MapCluster, last), -1) })
	}
	all := []MapCluster{}
	for _, m := range chosen[from:min(len(chosen), from+b.q.limit())] {
		all = append(all, m.MapCluster)
	}
	if n := len(all); from+n < len(chosen) {
		return all, Cursor(key(string(all[n-1].State), all[n-1].Name, all[n-1].ClusterType)), nil
	}
	return all, "", nil
}
