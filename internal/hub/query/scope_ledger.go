package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

// visibleLedger is the part of a ledger that a viewer sees. It implements each method of [Ledger] itself, so that a new one does not
// compile until it is decided what it returns.
type visibleLedger struct {
	all Ledger
	v   *visible
	now func() time.Time
}

var _ Ledger = (*visibleLedger)(nil)

// kept returns up to limit items that keep accepts, 0 for all. It returns fewer only if there are no more.
func kept[T any](limit int, read func(limit int) ([]T, error), keep func(*T) bool) ([]T, error) {
	for size := limit; ; size *= 8 {
		all, err := read(size)
		if err != nil {
			return nil, err
		}
		count := len(all)
		all = slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !keep(&one) })
		switch {
		case limit > 0 && len(all) >= limit:
			return all[:limit], nil
		case limit == 0 || count < size:
			return all, nil
		}
	}
}

// cluster returns what the viewer sees of a cluster: its memberships with the viewer's targets. ok is false if there are none.
func (v *visible) cluster(c ledger.Cluster) (ledger.Cluster, bool) {
	r := c.Registration
	seen := ledger.Cluster{Name: c.Name, Registered: c.Registered, LastHeard: c.LastHeard, Registration: ledger.Registration{
		Cluster: r.Cluster, Memberships: v.memberships(r.Memberships), Labels: r.Labels, Revoked: r.Revoked, At: r.At,
	}}
	return seen, len(seen.Registration.Memberships) > 0
}

func (v *visible) memberships(all []ledger.Membership) []ledger.Membership {
	return slices.DeleteFunc(slices.Clone(all), func(m ledger.Membership) bool {
		return !v.clusterTypes[inEnvironment{m.Environment, m.ClusterType}]
	})
}

// clusterBatch is how many clusters are read at once.
const clusterBatch = 1000

// Clusters implements [Members].
func (l *visibleLedger) Clusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error) {
	if q.ReportedBy != "" || q.Environment != "" && q.ClusterType != "" && !l.v.clusterTypes[inEnvironment{q.Environment, q.ClusterType}] {
		return nil, nil
	}
	limit := q.Limit
	if limit > 0 {
		q.Limit = max(limit, clusterBatch)
	}
	var seen []ledger.Cluster
	for {
		all, err := l.all.Clusters(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			c, ok := l.v.cluster(c)
			if !ok || !slices.ContainsFunc(c.Registration.Memberships, func(m ledger.Membership) bool {
				return (q.Environment == "" || q.Environment == m.Environment) && (q.ClusterType == "" || q.ClusterType == m.ClusterType)
			}) {
				continue
			}
			if seen = append(seen, c); limit > 0 && len(seen) == limit {
				return seen, nil
			}
		}
		if q.Limit == 0 || len(all) < q.Limit {
			return seen, nil
		}
		q.After = all[len(all)-1].Name
		if q.Natural {
			q.After = natural.Key(q.After)
		}
	}
}

// clustersAge is how long the names of the viewer's clusters are used again.
const clustersAge = 10 * time.Second

// names returns the names of the viewer's clusters, as of a few seconds ago.
func (l *visibleLedger) names(ctx context.Context) (map[string]bool, error) {
	l.v.mu.Lock()
	defer l.v.mu.Unlock()
	now := l.now()
	if age := now.Sub(l.v.read); l.v.clusters != nil && age >= 0 && age < clustersAge {
		return l.v.clusters, nil
	}
	all, err := l.Clusters(ctx, ledger.ClusterQuery{})
	if err != nil {
		return nil, err
	}
	l.v.clusters, l.v.read = make(map[string]bool, len(all)), now
	for _, c := range all {
		l.v.clusters[c.Name] = true
	}
	return l.v.clusters, nil
}

// hasCluster reports whether the viewer sees a cluster; false if that cannot be read.
func (l *visibleLedger) hasCluster(name string) bool {
	names, err := l.names(context.Background())
	return err == nil && names[name]
}

// state reports whether the viewer sees a reconciler: it follows a source that only the viewer's targets name, on one of its clusters.
func (l *visibleLedger) state(clusters map[string]bool, id ledger.ReconcilerID, o *ledger.Outcome) bool {
	return clusters[id.Cluster] && l.v.source(o.Source)
}

// States implements [Running]. Its cursors are made of reconcilers that the viewer sees.
func (l *visibleLedger) States(ctx context.Context, q ledger.StateQuery) (ledger.StatePage, error) {
	clusters, err := l.names(ctx)
	if err != nil {
		return ledger.StatePage{}, err
	}
	after, limit := q.After, q.Limit
	q.After, q.Limit = "", 0
	var all []ledger.ReconcilerState
	for _, q := range l.narrowed(q) {
		page, err := l.all.States(ctx, q)
		if err != nil {
			return ledger.StatePage{}, err
		}
		for _, s := range page.States {
			if l.state(clusters, s.Reconciler, &s.Outcome) && stateKey(&s) > after {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, func(a, b ledger.ReconcilerState) int { return strings.Compare(stateKey(&a), stateKey(&b)) })
	page := ledger.StatePage{States: all}
	if limit > 0 && len(all) > limit {
		page.States = all[:limit]
		page.Next = stateKey(&all[limit-1])
	}
	return page, nil
}

func stateKey(s *ledger.ReconcilerState) string {
	id := s.Reconciler
	return key(id.Cluster, id.Kind, id.Namespace, id.Name)
}

// narrowed returns queries for the viewer's branches, so that not all states of a large fleet are read.
func (l *visibleLedger) narrowed(q ledger.StateQuery) []ledger.StateQuery {
	if q.Source != (ledger.Source{}) {
		if q.Source.Repository = ledger.CleanRepository(q.Source.Repository); !l.v.source(q.Source) {
			return nil
		}
		return []ledger.StateQuery{q}
	}
	if q.Cluster != "" || q.Repository != "" && q.Ref != "" {
		return []ledger.StateQuery{q}
	}
	wanted := map[branch]bool{}
	for source := range l.v.sources {
		if l.v.source(source) && (q.Repository == "" || q.Repository == source.Repository) && (q.Ref == "" || q.Ref == source.Ref) {
			wanted[branch{source.Repository, source.Ref}] = true
		}
	}
	var all []ledger.StateQuery
	for at := range wanted {
		q.Repository, q.Ref = at.repository, at.name
		all = append(all, q)
	}
	return all
}

// Versions implements [Running].
func (l *visibleLedger) Versions(ctx context.Context, q ledger.VersionQuery) ([]ledger.VersionState, error) {
	all, err := l.all.Versions(ctx, q)
	return slices.DeleteFunc(slices.Clone(all), func(s ledger.VersionState) bool { return !l.workload(s.Environment, s.Workload) }), err
}

func (l *visibleLedger) workload(environment, name string) bool {
	return l.v.workloads.own(inEnvironment{environment, name})
}

// branch reports whether only the viewer's targets and applications have a branch.
func (l *visibleLedger) branch(c *ledger.Commit) bool {
	return c.Kind == ledger.BranchApplication && l.v.branches.own(branch{c.Repository, c.Branch})
}

// Commit implements [Wanting].
func (l *visibleLedger) Commit(ctx context.Context, repository, name, sha string) (ledger.Commit, error) {
	c, err := l.all.Commit(ctx, repository, name, sha)
	if err != nil {
		return ledger.Commit{}, err
	}
	if !l.branch(&c) {
		return ledger.Commit{}, ledger.ErrNotFound
	}
	c.Assignments = nil
	c.Versions = slices.DeleteFunc(slices.Clone(c.Versions), func(v ledger.Version) bool {
		return !l.workload(cmp.Or(v.Environment, c.Environment), v.Workload)
	})
	return c, nil
}

// Commits implements [Wanting].
func (l *visibleLedger) Commits(ctx context.Context, q ledger.CommitQuery) ([]ledger.Commit, error) {
	if q.Kind == "" {
		q.Kind = ledger.BranchApplication
	}
	if q.Kind != ledger.BranchApplication || q.WithoutKind == ledger.BranchApplication {
		return nil, nil
	}
	q.WithoutKind = ""
	return kept(q.Limit, func(limit int) ([]ledger.Commit, error) {
		q.Limit = limit
		return l.all.Commits(ctx, q)
	}, l.branch)
}

// Transitions implements [Past].
func (l *visibleLedger) Transitions(ctx context.Context, q ledger.TransitionQuery) ([]ledger.Transition, error) {
	clusters, err := l.names(ctx)
	if err != nil {
		return nil, err
	}
	return kept(q.Limit, func(limit int) ([]ledger.Transition, error) {
		q.Limit = limit
		return l.all.Transitions(ctx, q)
	}, func(t *ledger.Transition) bool { return l.state(clusters, t.Reconciler, &t.Outcome) })
}

// steps reads the steps of the viewer's applications, newest first: those of others can be many.
func (l *visibleLedger) steps(q ledger.StepQuery, read func(ledger.StepQuery) ([]ledger.Step, error)) ([]ledger.Step, error) {
	wanted := ""
	if q.Subject != "" {
		wanted = ledger.CleanSubject(q.Subject)
	}
	var all []ledger.Step
	for subject := range l.v.subjects {
		if !l.v.subjects.own(subject) || wanted != "" && wanted != subject {
			continue
		}
		q.Subject = subject
		some, err := kept(q.Limit, func(limit int) ([]ledger.Step, error) {
			q := q
			q.Limit = limit
			return read(q)
		}, func(s *ledger.Step) bool { return l.v.subject(s.Subject, s.Environment) })
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b ledger.Step) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Subject, b.Subject)) })
	if q.Limit > 0 {
		all = all[:min(q.Limit, len(all))]
	}
	return all, nil
}

// Steps implements [Past].
func (l *visibleLedger) Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error) {
	return l.steps(q, func(q ledger.StepQuery) ([]ledger.Step, error) { return l.all.Steps(ctx, q) })
}

// Promotions implements [Past].
func (l *visibleLedger) Promotions(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error) {
	return l.steps(q, func(q ledger.StepQuery) ([]ledger.Step, error) { return l.all.Promotions(ctx, q) })
}

// ChangeEvents implements [Past].
func (l *visibleLedger) ChangeEvents(ctx context.Context, q ledger.ChangeQuery) ([]ledger.ChangeEvent, error) {
	return kept(q.Limit, func(limit int) ([]ledger.ChangeEvent, error) {
		q.Limit = limit
		return l.all.ChangeEvents(ctx, q)
	}, func(e *ledger.ChangeEvent) bool {
		return l.v.branches.own(branch{ledger.CleanRepository(e.Repository), e.Branch})
	})
}

// AuditEntries implements [Past]. The audit trail is for admins.
func (l *visibleLedger) AuditEntries(context.Context, ledger.AuditQuery) ([]ledger.AuditEntry, error) {
	return nil, nil
}

// Silences implements [Past].
func (l *visibleLedger) Silences(ctx context.Context, q ledger.SilenceQuery) ([]ledger.Silence, error) {
	clusters, err := l.names(ctx)
	if err != nil {
		return nil, err
	}
	all, err := l.all.Silences(ctx, q)
	return slices.DeleteFunc(all, func(s ledger.Silence) bool { return !clusters[s.Cluster] }), err
}

// Deployments implements [Delivery].
func (l *visibleLedger) Deployments(ctx context.Context, q ledger.DeploymentQuery) ([]ledger.Deployment, error) {
	return kept(q.Limit, func(limit int) ([]ledger.Deployment, error) {
		q.Limit = limit
		return l.all.Deployments(ctx, q)
	}, func(d *ledger.Deployment) bool { return d.ControlPlane == "" && l.workload(d.Environment, d.Workload) })
}

// Incidents implements [Delivery].
func (l *visibleLedger) Incidents(ctx context.Context, q ledger.DeploymentQuery) ([]ledger.Incident, error) {
	return kept(q.Limit, func(limit int) ([]ledger.Incident, error) {
		q.Limit = limit
		return l.all.Incidents(ctx, q)
	}, func(i *ledger.Incident) bool { return i.ControlPlane == "" && l.workload(i.Environment, i.Workload) })
}

// Names implements [ledger.Overviews].
func (l *visibleLedger) Names(ctx context.Context, kind ledger.NameKind) ([]string, error) {
	found := map[string]bool{}
	switch kind {
	case ledger.NameCluster:
		names, err := l.names(ctx)
		if err != nil {
			return nil, err
		}
		found = names
	case ledger.NameEnvironment:
		for at := range l.v.environments {
			found[at.environment] = true
		}
	case ledger.NameWorkload:
		for at := range l.v.workloads {
			if l.v.workloads.own(at) {
				found[at.name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Wanted implements [ledger.Overviews].
func (l *visibleLedger) Wanted(ctx context.Context, q ledger.WantedQuery) (ledger.Wanted, error) {
	all, err := l.all.Wanted(ctx, q)
	if err != nil {
		return ledger.Wanted{}, err
	}
	return ledger.Wanted{
		Heads: slices.DeleteFunc(slices.Clone(all.Heads), func(c ledger.Commit) bool { return !l.branch(&c) }),
		Assignments: slices.DeleteFunc(slices.Clone(all.Assignments), func(a ledger.WantedAssignment) bool {
			return !l.v.targets.own(inEnvironment{a.Environment, a.Target}) || !l.v.clusterTypes[inEnvironment{a.Environment, a.ClusterType}]
		}),
		Versions: slices.DeleteFunc(slices.Clone(all.Versions), func(v ledger.WantedVersion) bool { return !l.workload(v.Environment, v.Workload) }),
	}, nil
}

// Appearances implements [ledger.Overviews].
func (l *visibleLedger) Appearances(ctx context.Context, q ledger.AppearanceQuery) ([]ledger.Appearance, error) {
	return kept(q.Limit, func(limit int) ([]ledger.Appearance, error) {
		q.Limit = limit
		return l.all.Appearances(ctx, q)
	}, func(a *ledger.Appearance) bool {
		if a.Workload != "" {
			return l.workload(a.Environment, a.Workload)
		}
		return l.v.source(a.Source)
	})
}

// Registered implements [ledger.Overviews]. It has no revocations, which have no memberships.
func (l *visibleLedger) Registered(ctx context.Context, q ledger.RegistrationQuery) ([]ledger.Registration, error) {
	all, err := kept(q.Limit, func(limit int) ([]ledger.Registration, error) {
		q.Limit = limit
		return l.all.Registered(ctx, q)
	}, func(r *ledger.Registration) bool {
		return slices.ContainsFunc(l.v.memberships(r.Memberships), func(m ledger.Membership) bool { return q.Environment == "" || q.Environment == m.Environment })
	})
	for i, r := range all {
		all[i] = ledger.Registration{Cluster: r.Cluster, Memberships: l.v.memberships(r.Memberships), Labels: r.Labels, At: r.At}
	}
	return all, err
}

// MemberStates implements [ledger.Overviews].
func (l *visibleLedger) MemberStates(ctx context.Context, q ledger.MemberStatesQuery) ([]ledger.MemberStates, error) {
	if q.Source != (ledger.Source{}) && !l.v.source(q.Source) {
		return nil, nil
	}
	known, err := l.names(ctx)
	if err != nil {
		return nil, err
	}
	all, err := l.all.MemberStates(ctx, q)
	var seen []ledger.MemberStates
	for _, m := range all {
		if !l.v.source(m.Source) {
			continue
		}
		m.Clusters = slices.DeleteFunc(slices.Clone(m.Clusters), func(name string) bool { return !known[name] })
		if len(m.Clusters) > 0 {
			seen = append(seen, m)
		}
	}
	return seen, err
}

// Members implements [ledger.Overviews].
func (l *visibleLedger) Members(ctx context.Context, q ledger.MembersQuery) ([]ledger.MemberCount, error) {
	if q.Source != (ledger.Source{}) && !l.v.source(q.Source) {
		return nil, nil
	}
	all, err := l.all.Members(ctx, q)
	return slices.DeleteFunc(slices.Clone(all), func(m ledger.MemberCount) bool {
		return !l.v.clusterTypes[inEnvironment{q.Environment, m.ClusterType}]
	}), err
}
