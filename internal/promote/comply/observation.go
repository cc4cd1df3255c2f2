package comply

import (
	"cmp"
	"slices"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// Observation is what a cluster reported about one of its reconcilers. The caller leaves out reconcilers that were removed.
type Observation struct {
	Cluster    string // required
	Reconciler string // required, unique in the cluster, such as "Kustomization flux-system/platform-dev"
	Source     hub.Source
	// Revision was applied last or, if the reconciler is progressing or failed, attempted last.
	Revision revisions.Revision
	State    hub.State
	Message  string
	// Applied was applied last, whatever its health. If it is zero, the state says it: a reconciler that is ready or suspended has
	// applied Revision.
	Applied revisions.Revision
	Health  hub.Health
	// Unhealthy explains the health, such as "Deployment shop/web is degraded: ..."; empty if nothing is known.
	Unhealthy string
	// Observed is when the cluster saw it, by its own clock.
	Observed time.Time // required
	// Since is when the reconciler entered this state, by the same clock; optional.
	Since time.Time
	// Ran is since when it has run Revision without failing, and BrokeAt the revision at which it began to fail by itself; zero unless
	// [Observation.Follow] found out.
	Ran     time.Time
	BrokeAt revisions.Revision
}

// failureWindow is how long after a reconciler began to run a revision a failure belongs to that change. Later ones began by themselves.
const failureWindow = time.Hour

// Follow sets what follows from the observation of the same reconciler before; nil if there is none.
func (o *Observation) Follow(before *Observation) {
	o.Ran, o.BrokeAt = time.Time{}, revisions.Revision{}
	same := before != nil && before.Revision == o.Revision
	from := o.since(o.Observed)
	switch {
	case o.well() && same && !before.Ran.IsZero():
		o.Ran = before.Ran
	case o.well():
		o.Ran = from
	case before == nil:
	case before.BrokeAt != (revisions.Revision{}):
		o.BrokeAt = before.BrokeAt // it has not been well since
	case !same || before.Ran.IsZero():
	case !o.failing():
		o.Ran = before.Ran
	case from.Sub(before.Ran) > failureWindow:
		o.BrokeAt = o.Revision
	}
}

// well reports whether the reconciler runs its revision, and nothing is known to be wrong with that.
func (o *Observation) well() bool { return o.State == hub.StateReady && o.Health != hub.HealthDegraded }

func (o *Observation) failing() bool {
	return o.State == hub.StateFailed || o.Health == hub.HealthDegraded
}

// branch returns the branch that the reconciler follows. Some report it only as part of the revision.
func (o *Observation) branch() string {
	if o.Source.Ref == "" {
		return o.Revision.Name
	}
	return revisions.Branch(o.Source.Ref)
}

// applied returns the revision that was applied last; zero if unknown.
func (o *Observation) applied() revisions.Revision {
	if o.Applied == (revisions.Revision{}) && (o.State == hub.StateReady || o.State == hub.StateSuspended) {
		return o.Revision
	}
	return o.Applied
}

// since returns when the state began, not later than now.
func (o *Observation) since(now time.Time) time.Time {
	since := o.Since
	if since.IsZero() || since.After(o.Observed) {
		since = o.Observed
	}
	return earlier(since, now)
}

// observations indexes the newest observation of each reconciler by cluster.
type observations struct {
	byCluster map[string][]*Observation
	repoKeys  map[string]string
}

func indexObservations(all []Observation) *observations {
	ix := &observations{byCluster: make(map[string][]*Observation, len(all)), repoKeys: map[string]string{}}
	for i := range all {
		ix.byCluster[all[i].Cluster] = append(ix.byCluster[all[i].Cluster], &all[i])
	}
	for cluster, of := range ix.byCluster {
		ix.byCluster[cluster] = newest(of)
	}
	return ix
}

// newest keeps one observation of each reconciler, sorted by reconciler.
func newest(of []*Observation) []*Observation {
	slices.SortFunc(of, compareObservations)
	return slices.CompactFunc(of, func(a, b *Observation) bool { return a.Reconciler == b.Reconciler })
}

// compareObservations sorts the newest observation of a reconciler first.
func compareObservations(a, b *Observation) int {
	if order := cmp.Compare(a.Reconciler, b.Reconciler); order != 0 {
		return order
	}
	if order := b.Observed.Compare(a.Observed); order != 0 {
		return order
	}
	return compareSimultaneous(a, b)
}

// compareSimultaneous sorts the worse of two observations with the same time first,
// so that the order of arrival makes no difference.
func compareSimultaneous(a, b *Observation) int {
	return cmp.Or(
		cmp.Compare(rank(a.State), rank(b.State)),
		cmp.Compare(b.Health.Severity(), a.Health.Severity()),
		cmp.Compare(a.Revision.String(), b.Revision.String()),
		cmp.Compare(a.Applied.String(), b.Applied.String()),
		cmp.Compare(a.Source.Repository, b.Source.Repository),
		cmp.Compare(a.branch(), b.branch()),
		cmp.Compare(a.Source.Path, b.Source.Path),
		cmp.Compare(a.Message, b.Message),
		cmp.Compare(a.Unhealthy, b.Unhealthy),
		a.Since.Compare(b.Since),
	)
}

// rank puts the worst state first. An unknown state ranks with failed.
func rank(s hub.State) int {
	return max(slices.Index([]hub.State{hub.StateFailed, hub.StateProgressing, hub.StateSuspended, hub.StateReady}, s), 0)
}

// following returns the observations of an expected reconciler, which follows exactly the expected repository, branch and folder,
// and others of the same cluster and repository. A parent of the folder is not enough: whether a reconciler applies
// subfolders depends on its kind and settings.
func (ix *observations) following(e *Expected) (mine, others []*Observation) {
	repo, branch, folder := ix.repoKey(e.Source.Repository), revisions.Branch(e.Source.Ref), cleanPath(e.Source.Path)
	for _, o := range ix.byCluster[e.Cluster] {
		if ix.repoKey(o.Source.Repository) != repo {
			continue
		}
		if o.branch() == branch && e.accepts(folder, cleanPath(o.Source.Path)) {
			mine = append(mine, o)
		} else {
			others = append(others, o)
		}
	}
	return mine, others
}

// accepts reports whether the reconciler may follow a folder.
func (e *Expected) accepts(expected, followed string) bool {
	is := func(folder string) bool {
		return followed == folder || e.AnyParent && strings.HasSuffix(followed, "/"+folder)
	}
	return is(expected) || e.Or != "" && is(cleanPath(e.Or))
}

// repoKey caches the keys of repositories.
func (ix *observations) repoKey(address string) string {
	key, ok := ix.repoKeys[address]
	if !ok {
		key = repourl.Clean(address)
		ix.repoKeys[address] = key
	}
	return key
}

// heard returns when the cluster last reported, not later than now; zero if never.
func (ix *observations) heard(e *Expected, now time.Time) time.Time {
	heard := e.Heard
	if heard.IsZero() {
		for _, o := range ix.byCluster[e.Cluster] {
			heard = later(heard, o.Observed)
		}
	}
	return earlier(heard, now)
}

// summary returns the first line of a text, shortened to fit into a reason.
func summary(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = oneLine(line)
	const limit = 120
	if runes := []rune(line); len(runes) > limit {
		line = string(runes[:limit-1]) + "…"
	}
	return line
}

// oneLine returns a message on one line. It keeps all of it, because errors often name their cause at the end;
// the intake limits its length.
func oneLine(message string) string {
	message = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(message, "?"))
	return strings.Join(strings.Fields(message), " ")
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
