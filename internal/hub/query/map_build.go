package query

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

// mapBuilder builds a map from values in memory.
type mapBuilder struct {
	q    *MapQuery
	view *environmentView
	// ringOf has the rings of clusters; empty without rings. ringNames are in the order of rollouts.
	ringOf    map[string]string
	ringNames []string
	members   []*mapMember
	byName    map[string][]*mapMember
	byType    map[string][]*mapMember
	targets   []mapTarget
	// platform counts the clusters that match the query by type and the state of their platform reconcilers.
	platform map[string]MapCounts
	// failsOn collects the clusters on which targets fail; nil if that is not needed.
	failsOn map[string][]string
}

// mapMember is a cluster as one cluster type.
type mapMember struct {
	MapCluster
	// platform is the state of its platform reconciler.
	platform MapState
	// kept means that it matches the query.
	kept bool
}

// mapTarget is a target with its states on clusters.
type mapTarget struct {
	*targetStatus
	// states has those that are known, and byType their clusters by cluster type; rest is the state of all others. If rest is ready,
	// silent counts by cluster type the clusters that never reported.
	states map[*mapMember]MapState
	byType map[string][]*mapMember
	rest   MapState
	silent map[string]int
}

// memberOf converts an expected reconciler of the platform.
func memberOf(r *comply.Reconciler) MapCluster {
	c := MapCluster{Name: r.Cluster, ClusterType: r.ClusterType, State: MapReady, Since: utc(r.Since)}
	if r.State != comply.Reached {
		c.State, c.Reason = MapState(r.State), r.Reason
	}
	return c
}

// rings reads the rings of clusters: those that are published, or else those of their Cluster objects.
func (b *mapBuilder) rings() {
	b.ringOf = map[string]string{}
	s := b.view.scheduled
	if s == nil || s.Snapshot == nil {
		return
	}
	b.ringNames = s.Snapshot.RingNames()
	for _, c := range s.Snapshot.Clusters {
		if slices.Contains(b.ringNames, c.Ring) {
			b.ringOf[c.Name] = c.Ring
		}
	}
	if s.Outcome == nil || s.Outcome.Bundle == nil {
		return
	}
	rings, _ := s.Outcome.Bundle.Published().Rings()
	if rings == nil {
		return
	}
	b.ringNames = nil
	clear(b.ringOf)
	for _, stage := range rings.Stages {
		ring := fleet.RingOfStage(stage.Name)
		b.ringNames = union(b.ringNames, []string{ring})
		for _, c := range stage.Clusters {
			b.ringOf[c] = ring
		}
	}
}

// addMember adds a cluster if it matches the query. registered are the labels of its registration.
func (b *mapBuilder) addMember(c MapCluster, registered map[string]string) {
	c.Ring = b.ringOf[c.Name]
	q := b.q
	if q.ClusterType != "" && q.ClusterType != c.ClusterType || q.Ring != "" && q.Ring != c.Ring || q.Cluster != "" && q.Cluster != c.Name {
		return
	}
	for name, value := range q.Labels {
		if got, ok := b.label(&c, registered, name); !ok || got != value {
			return
		}
	}
	if b.byName == nil {
		b.byName, b.byType = map[string][]*mapMember{}, map[string][]*mapMember{}
	}
	m := &mapMember{MapCluster: c, platform: c.State, kept: true}
	b.members = append(b.members, m)
	b.byName[c.Name] = append(b.byName[c.Name], m)
	b.byType[c.ClusterType] = append(b.byType[c.ClusterType], m)
}

// label returns a label of a cluster: of its registration, its Cluster object, or its cluster type.
func (b *mapBuilder) label(c *MapCluster, registered map[string]string, name string) (string, bool) {
	sources := []map[string]string{registered}
	if s := b.view.scheduled; s != nil && s.Snapshot != nil {
		if object := s.Snapshot.Cluster(c.Name); object != nil {
			sources = append(sources, object.Labels)
		}
	}
	for _, labels := range append(sources, b.view.clusterTypes[c.ClusterType]) {
		if value, ok := labels[name]; ok {
			return value, true
		}
	}
	return "", false
}

// check returns an [UnknownError] if a name in the query does not exist. elsewhere are further workloads.
func (b *mapBuilder) check(elsewhere []string) error {
	workloads, workspaces, policies := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, name := range elsewhere {
		workloads[name] = true
	}
	for _, t := range b.view.targets {
		workloads[t.workload], workspaces[t.workspace] = true, true
		for _, a := range t.assignments {
			for _, p := range a.policies {
				policies[p] = true
			}
		}
	}
	for _, p := range b.view.statuses { // those that are only in deployment descriptors
		workloads[p.workload], workspaces[p.workspace] = true, true
	}
	types := map[string]bool{}
	for name := range b.view.clusterTypes {
		types[name] = true
	}
	for name := range b.view.members {
		types[name] = true
	}
	rings := map[string]bool{}
	for _, name := range b.ringNames {
		rings[name] = true
	}
	for _, c := range []struct {
		what, name string
		known      map[string]bool
	}{
		{"workload", b.q.Workload, workloads},
		{"workspace", b.q.Workspace, workspaces},
		{"policy", b.q.Policy, policies},
		{"cluster type", b.q.ClusterType, types},
		{"ring", b.q.Ring, rings},
	} {
		if c.name != "" && !c.known[c.name] {
			return Unknown(c.what, c.name, slices.Collect(maps.Keys(c.known)))
		}
	}
	return nil
}

// mapStateOf converts the state of a reconciler.
var mapStateOf = map[ledger.State]MapState{
	ledger.StateReady: MapReady, ledger.StateProgressing: MapBehind, ledger.StateSuspended: MapSuspended, ledger.StateFailed: MapFailed,
}

// addStates adds what clusters report about a target. Of several reconcilers on a cluster, the most urgent counts.
func (b *mapBuilder) addStates(t *mapTarget, all []ledger.MemberStates) {
	t.states, t.byType = map[*mapMember]MapState{}, map[string][]*mapMember{}
	for _, s := range all {
		for _, name := range s.Clusters {
			for _, m := range b.byName[name] {
				var counts MapCounts
				counts.add(mapStateOf[s.State], 1)
				if before, ok := t.states[m]; ok {
					counts.add(before, 1)
				} else {
					t.byType[m.ClusterType] = append(t.byType[m.ClusterType], m)
				}
				t.states[m] = counts.Worst()
			}
		}
	}
}

// on returns the state of the target on a cluster.
func (t *mapTarget) on(m *mapMember) MapState {
	if s, ok := t.states[m]; ok && m.platform != MapOffline {
		return s
	}
	return t.otherwise(m)
}

// otherwise returns the state of the target on a cluster, if nothing is known of it.
func (t *mapTarget) otherwise(m *mapMember) MapState {
	switch {
	case m.platform == MapOffline:
		return MapOffline
	case t.rest == MapReady && m.platform == MapMissing && t.silent[m.ClusterType] > 0:
		return MapMissing
	}
	return t.rest
}

// maxFailedTargets is how many failed targets of a cluster are named.
const maxFailedTargets = 5

// selects reports whether an assignment is published and matches the query.
func (b *mapBuilder) selects(a *assignment) bool {
	return a.isPublished() && (b.q.Policy == "" || slices.Contains(a.policies, b.q.Policy))
}

// judge sets the states of the clusters, and leaves out those that do not match the query.
func (b *mapBuilder) judge() {
	assigned, unknown := map[string]bool{}, map[string]int{}
	for i := range b.targets {
		t := &b.targets[i]
		for n := range t.assignments {
			if a := &t.assignments[n]; b.selects(a) {
				assigned[a.clusterType] = true
				if t.rest == MapUnknown {
					unknown[a.clusterType]++
				}
				b.judgeTarget(t, a.clusterType)
			}
		}
	}
	for _, m := range b.members {
		var own MapCounts
		own.add(m.platform, 1)
		if m.State = own.Plus(m.Targets).Worst(); m.State != m.platform {
			m.Since = time.Time{}
		}
		if m.platform != MapOffline && unknown[m.ClusterType] > 0 {
			m.Targets.add(MapUnknown, unknown[m.ClusterType]) // does not hide the state of the cluster itself
		}
		m.kept = (b.q.State == "" || b.q.State == m.State) && (!b.q.narrows() || assigned[m.ClusterType])
	}
}

// judgeTarget adds what is known of a target on the clusters of a type, if it is not ready. Nothing is of a cluster that is offline.
func (b *mapBuilder) judgeTarget(t *mapTarget, clusterType string) {
	members := t.byType[clusterType]
	if t.rest == MapMissing {
		members = b.byType[clusterType]
	}
	for _, m := range members {
		s := t.on(m)
		if s == MapOffline {
			continue
		}
		if t.rest == MapUnknown {
			m.Targets.add(MapUnknown, -1) // judge counts it for all clusters of the type
		}
		if s == MapReady {
			continue
		}
		m.Targets.add(s, 1)
		if s == MapFailed && b.failsOn != nil {
			b.failsOn[t.name] = append(b.failsOn[t.name], m.Name)
		}
		if s == MapFailed && len(m.Failed) < maxFailedTargets {
			m.Failed = append(m.Failed, t.name)
		}
	}
}

// nodes are nodes by name.
type nodes map[string]*MapNode

func (n nodes) of(name string) *MapNode {
	if n[name] == nil {
		n[name] = &MapNode{Name: name}
	}
	return n[name]
}

// sorted returns the most urgent nodes in natural order.
func (n nodes) sorted() MapNodes {
	all := MapNodes{Total: len(n), Items: []MapNode{}}
	for _, one := range n {
		all.Items = append(all.Items, *one)
	}
	byName := func(a, b MapNode) int { return natural.Compare(a.Name, b.Name) }
	if len(all.Items) > MaxLimit {
		urgency := MapStates()
		slices.SortFunc(all.Items, func(a, b MapNode) int {
			return cmp.Or(cmp.Compare(slices.Index(urgency, a.Counts.Worst()), slices.Index(urgency, b.Counts.Worst())), byName(a, b))
		})
		all.Items = all.Items[:MaxLimit]
	}
	slices.SortFunc(all.Items, byName)
	return all
}

// links are links by the names of their ends.
type links map[[2]string]*MapCounts

func (l links) add(from, to string, c MapCounts) {
	k := [2]string{from, to}
	if l[k] == nil {
		l[k] = &MapCounts{}
	}
	*l[k] = l[k].Plus(c)
}

func (l links) sorted() []MapLink {
	all := []MapLink{}
	for k, c := range l {
		all = append(all, MapLink{From: k[0], To: k[1], Counts: *c})
	}
	slices.SortFunc(all, func(a, b MapLink) int { return cmp.Or(natural.Compare(a.From, b.From), natural.Compare(a.To, b.To)) })
	return all
}

// build fills the map, except for the page of clusters.
func (b *mapBuilder) build(m *Map) {
	b.judge()
	workloads, policies, types, rings := nodes{}, nodes{}, nodes{}, nodes{}
	workloadPolicies, policyTypes, typeRings := links{}, links{}, links{}
	b.platform = map[string]MapCounts{}
	ofClusters := b.q.ClusterType != "" || b.q.Ring != "" || b.q.Cluster != "" || b.q.State != "" || len(b.q.Labels) > 0
	for _, c := range b.members {
		if !c.kept {
			continue
		}
		m.Counts.add(c.State, 1)
		types.of(c.ClusterType).Counts.add(c.State, 1)
		if c.Ring != "" {
			rings.of(c.Ring).Counts.add(c.State, 1)
		}
		var one MapCounts
		one.add(c.State, 1)
		typeRings.add(c.ClusterType, c.Ring, one)
		platform := b.platform[c.ClusterType]
		platform.add(c.platform, 1)
		b.platform[c.ClusterType] = platform
	}
	if !ofClusters && !b.q.narrows() {
		for name := range b.view.clusterTypes {
			types.of(name)
		}
	}
	for i := range b.targets {
		t := &b.targets[i]
		if !ofClusters && b.q.Policy == "" {
			workloads.of(t.workload).Workspace = t.workspace
		}
		for n := range t.assignments {
			a := &t.assignments[n]
			if !b.selects(a) || ofClusters && types[a.clusterType] == nil {
				continue
			}
			counts := b.cell(t, a.clusterType)
			touched := []*MapNode{workloads.of(t.workload), types.of(a.clusterType)}
			workloads[t.workload].Workspace = t.workspace
			workloads[t.workload].Counts = workloads[t.workload].Counts.Plus(counts)
			through := a.policies
			if len(through) == 0 {
				through = []string{""}
			}
			for _, p := range through {
				if b.q.Policy != "" && p != b.q.Policy {
					continue
				}
				if p != "" {
					touched = append(touched, policies.of(p))
					policies[p].Counts = policies[p].Counts.Plus(counts)
				}
				workloadPolicies.add(t.workload, p, counts)
				policyTypes.add(p, a.clusterType, counts)
			}
			for _, node := range touched {
				node.Assignments++
				if a.held != nil {
					node.Held++
				}
			}
		}
	}
	m.Workloads, m.Policies, m.ClusterTypes, m.Rings = workloads.sorted(), policies.sorted(), types.sorted(), rings.sorted()
	slices.SortStableFunc(m.Rings.Items, func(x, y MapNode) int {
		return cmp.Compare(slices.Index(b.ringNames, x.Name), slices.Index(b.ringNames, y.Name))
	})
	m.WorkloadPolicies, m.PolicyTypes, m.TypeRings = workloadPolicies.sorted(), policyTypes.sorted(), typeRings.sorted()
}

// cell counts the clusters of a type by the state of a target. A fleet has many cells, and most clusters are ready: only those that are
// not are counted one by one.
func (b *mapBuilder) cell(t *mapTarget, clusterType string) MapCounts {
	var counts MapCounts
	if t.rest == MapMissing {
		for _, m := range b.byType[clusterType] {
			if m.kept {
				counts.add(t.on(m), 1)
			}
		}
		return counts
	}
	platform := b.platform[clusterType]
	missing := 0
	if t.rest == MapReady && t.silent[clusterType] > 0 {
		missing = platform.Missing
	}
	counts.add(MapOffline, platform.Offline)
	counts.add(MapMissing, missing)
	counts.add(t.rest, platform.Total-platform.Offline-missing)
	for _, m := range t.byType[clusterType] {
		if m.kept {
			counts.add(t.otherwise(m), -1)
			counts.add(t.on(m), 1)
		}
	}
	return counts
}
