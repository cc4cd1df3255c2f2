package query

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

// environmentView is what an environment should run, and what it runs.
type environmentView struct {
	standing
	*inventory
	// statuses are the targets by name, including those that are only in deployment descriptors.
	statuses []targetStatus
	// members counts clusters by cluster type, silent those that never reported.
	members map[string]int
	silent  func() (map[string]int, error)
	heads   []ledger.Commit
	past    bool
}

// targetStatus is a target with what should run and what runs.
type targetStatus struct {
	*target
	source ledger.Source
	wanted *ledger.Version
	// appeared is what runs now, or ran at the requested time.
	appeared []ledger.Appearance
	// pin is set for a target that does not follow its environment, as far as the server delivers its application.
	pin *deliver.PinnedTarget
}

// targetFilter selects targets. Empty fields match all.
type targetFilter struct {
	target, workload, workspace, clusterType string
}

func (f targetFilter) wants(t *target) bool {
	return (f.target == "" || f.target == t.name || f.target == t.workload+"/"+t.shortName) &&
		(f.workload == "" || f.workload == t.workload) && (f.workspace == "" || f.workspace == t.workspace) &&
		(f.clusterType == "" || slices.ContainsFunc(t.assignments, func(a assignment) bool { return a.clusterType == f.clusterType }))
}

// environmentView reads an environment at a time.
func (o *Observer) environmentView(ctx context.Context, s standing, f targetFilter, asOf time.Time) (*environmentView, error) {
	var wanted ledger.Wanted
	var appeared []ledger.Appearance
	var members map[string]int
	silent := sync.OnceValues(func() (map[string]int, error) {
		return o.members(ctx, ledger.MembersQuery{Environment: s.name, Silent: true})
	})
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		wanted, err = o.Ledger.Wanted(gctx, ledger.WantedQuery{Environment: s.name, Workload: f.workload, Workspace: f.workspace, AsOf: asOf})
		return err
	})
	group.Go(func() (err error) {
		appeared, err = o.appeared(gctx, s.name, f.workload, asOf)
		return err
	})
	group.Go(func() (err error) {
		members, err = o.members(gctx, ledger.MembersQuery{Environment: s.name, AsOf: asOf})
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	inv := s.scheduled.targets()
	if inv == nil {
		inv = recordedTargets(wanted)
	}
	sc := &environmentView{standing: s, inventory: inv, heads: wanted.Heads, members: members, silent: silent, past: !asOf.IsZero()}
	sc.place(f, wanted.Versions, appeared)
	o.addPins(sc)
	return sc, o.addUnrecorded(ctx, sc)
}

// addPins adds which targets do not follow their environment now.
func (o *Observer) addPins(sc *environmentView) {
	if sc.past {
		return
	}
	pins := map[string]map[string]*deliver.PinnedTarget{}
	for _, a := range o.applications() {
		e := a.environment(sc.name)
		if e == nil || e.Detail == nil || len(e.Detail.Pinned) == 0 {
			continue
		}
		if d := o.delivers(&sc.standing, a.Name); d == nil || d.Subject != a.Subject || d.ControlPlane != a.ControlPlane {
			continue
		}
		pins[a.Name] = map[string]*deliver.PinnedTarget{}
		for i := range e.Detail.Pinned {
			pins[a.Name][e.Detail.Pinned[i].Name] = &e.Detail.Pinned[i]
		}
	}
	for i := range sc.statuses {
		sc.statuses[i].pin = pins[sc.statuses[i].workload][sc.statuses[i].shortName]
	}
}

// addUnrecorded adds what runs of targets whose repositories are not recorded, by the sources that the fleet knows.
func (o *Observer) addUnrecorded(ctx context.Context, sc *environmentView) error {
	if sc.past || sc.scheduled.targets() == nil {
		return nil
	}
	for i := range sc.statuses {
		p := &sc.statuses[i]
		if len(p.appeared) > 0 || p.wanted != nil || p.source == (ledger.Source{}) {
			continue
		}
		var err error
		if p.appeared, err = o.Ledger.Appearances(ctx, ledger.AppearanceQuery{Source: p.source, Running: true}); err != nil {
			return err
		}
	}
	return nil
}

// members counts clusters of an environment by cluster type.
func (o *Observer) members(ctx context.Context, q ledger.MembersQuery) (map[string]int, error) {
	members, err := o.Ledger.Members(ctx, q)
	counts := map[string]int{}
	for _, m := range members {
		counts[m.ClusterType] = m.Count
	}
	return counts, err
}

// appeared returns what runs in an environment. For the past, it returns only versions from deployment descriptors, for speed.
func (o *Observer) appeared(ctx context.Context, environment, workload string, asOf time.Time) ([]ledger.Appearance, error) {
	if asOf.IsZero() {
		// Of all workloads, because revisions without a descriptor match by source. Not of the platform branch, which can have a
		// folder for each cluster.
		return o.Ledger.Appearances(ctx, ledger.AppearanceQuery{Environment: environment, Kind: ledger.BranchApplication, Running: true})
	}
	versions, err := o.Ledger.Versions(ctx, ledger.VersionQuery{Environment: environment, Workload: workload, AsOf: asOf})
	var all []ledger.Appearance
	for _, v := range versions {
		all = append(all, ledger.Appearance{
			Environment: v.Environment, Outcome: ledger.Outcome{State: v.State}, At: v.Since, Reconcilers: v.Reconcilers,
			Workload: v.Workload, Target: v.Target, Version: v.Version.Version,
		})
	}
	return all, err
}

// byName finds targets by their names in descriptors.
type byName map[string]*target

// find returns a target and adds it if it is unknown.
func (known byName) find(workload, name, workspace string) *target {
	for _, full := range []string{fullName(workload, name), name, workload + "-" + name} {
		if t := known[full]; t != nil && t.workload == workload {
			return t
		}
	}
	t := &target{name: fullName(workload, name), workload: workload, workspace: workspace, shortName: shortName(workload, name)}
	known[t.name] = t
	return t
}

// place matches targets with versions and appearances, by names in descriptors and by source.
func (sc *environmentView) place(f targetFilter, versions []ledger.WantedVersion, appeared []ledger.Appearance) {
	known := byName{}
	for _, t := range sc.targets {
		known[t.name] = t
	}
	byTarget, bySource := map[*target][]ledger.Appearance{}, map[ledger.Source][]ledger.Appearance{}
	for _, a := range appeared {
		if a.Workload == "" {
			bySource[a.Source] = append(bySource[a.Source], a)
			continue
		}
		t := known.find(a.Workload, a.Target, "")
		byTarget[t] = append(byTarget[t], a)
	}
	wanted := map[*target]*ledger.WantedVersion{}
	for i, v := range versions {
		wanted[known.find(v.Workload, v.Target, v.Workspace)] = &versions[i]
	}
	for _, t := range known {
		if !f.wants(t) {
			continue
		}
		p := targetStatus{target: t, source: t.source, appeared: byTarget[t]}
		if w := wanted[t]; w != nil {
			p.wanted = &w.Version
			p.source = ledger.Source{Repository: w.Repository, Ref: w.Branch, Path: w.Path}
		}
		if p.source != (ledger.Source{}) {
			p.appeared = slices.Concat(p.appeared, bySource[p.source])
		}
		sc.statuses = append(sc.statuses, p)
	}
	slices.SortFunc(sc.statuses, func(a, b targetStatus) int { return cmp.Compare(a.name, b.name) })
}

// versions counts what runs by version and state, or by revision if the version is unknown.
func (p *targetStatus) versions() []VersionCount {
	all := []VersionCount{}
	for _, a := range p.appeared {
		v := VersionCount{Version: a.Version, State: a.State, Reconcilers: a.Reconcilers, Since: a.At}
		if v.Version == "" {
			v.Revision = a.Revision
		}
		all = append(all, v)
	}
	return sumVersions(all)
}

// sumVersions merges counts with the same version and state, and sorts them.
func sumVersions(all []VersionCount) []VersionCount {
	slices.SortFunc(all, func(a, b VersionCount) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Revision, b.Revision),
			cmp.Compare(a.State.Severity(), b.State.Severity()), a.Since.Compare(b.Since))
	})
	sums := []VersionCount{}
	for _, v := range all {
		if n := len(sums); n > 0 && sums[n-1].Version == v.Version && sums[n-1].Revision == v.Revision && sums[n-1].State == v.State {
			sums[n-1].Reconcilers += v.Reconcilers
			continue
		}
		sums = append(sums, v)
	}
	return sums
}

// states counts what runs by state. Several versions in one revision count once.
func (p *targetStatus) states() StateCounts {
	type outcome struct {
		revision string
		state    ledger.State
	}
	var counts StateCounts
	seen := map[outcome]bool{}
	for _, a := range p.appeared {
		if k := (outcome{a.Revision, a.State}); !seen[k] {
			seen[k] = true
			counts.add(a.State, a.Reconcilers)
		}
	}
	return counts
}

// add counts reconcilers in a state.
func (c *StateCounts) add(state ledger.State, n int) {
	switch state {
	case ledger.StateReady:
		c.Ready += n
	case ledger.StateProgressing:
		c.Progressing += n
	case ledger.StateSuspended:
		c.Suspended += n
	case ledger.StateFailed:
		c.Failed += n
	}
}

// cells counts the clusters of each assignment of a target by state. If there are as many reconcilers as reporting clusters,
// it counts only those that are not ready and takes the others as ready, which is much faster in large fleets.
func (o *Observer) cells(ctx context.Context, sc *environmentView, p *targetStatus) ([]StateCounts, error) {
	cells, expected := p.expected(sc.members)
	if sc.past || p.source == (ledger.Source{}) {
		return cells, nil // unknown
	}
	all := p.states()
	var silent map[string]int
	complete := all.known() == expected
	if !complete {
		var err error
		if silent, err = sc.silent(); err != nil {
			return nil, err
		}
		_, mute := p.expected(silent)
		complete = all.known() == expected-mute
	}
	if all.known() > 0 && (!complete || all.Ready < all.known()) {
		counts, err := o.Ledger.Members(ctx, ledger.MembersQuery{Environment: sc.name, Source: p.source, Unready: complete})
		if err != nil {
			return nil, err
		}
		p.count(cells, counts)
	}
	for i := range cells {
		rest := max(0, cells[i].Expected-cells[i].known())
		cells[i].Missing = rest
		if complete {
			cells[i].Missing = min(rest, silent[p.assignments[i].clusterType])
			cells[i].Ready += rest - cells[i].Missing
		}
	}
	return cells, nil
}

// count adds counts by cluster type to the cells of a target.
func (p *targetStatus) count(cells []StateCounts, counts []ledger.MemberCount) {
	for _, c := range counts {
		i, ok := slices.BinarySearchFunc(p.assignments, c.ClusterType, func(a assignment, ct string) int { return natural.Compare(a.clusterType, ct) })
		if ok {
			cells[i].add(c.State, c.Count)
		}
	}
}

// expected returns the number of clusters of each assignment, and their sum.
func (p *targetStatus) expected(members map[string]int) (cells []StateCounts, sum int) {
	cells = make([]StateCounts, len(p.assignments))
	for i, a := range p.assignments {
		if a.isPublished() {
			cells[i].Expected = members[a.clusterType]
			sum += cells[i].Expected
		}
	}
	return cells, sum
}

// known returns the number of reconcilers with a state.
func (c *StateCounts) known() int { return c.Ready + c.Progressing + c.Suspended + c.Failed }
