package comply

import (
	"cmp"
	"slices"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Observation is what a cluster saw of one of its reconcilers. A reconciler that was removed from its cluster
// has no observation any more: who gathers them leaves it out.
type Observation struct {
	Cluster    string // required
	Reconciler string // required, unique in the cluster, such as "Kustomization flux-system/platform-dev"
	Source     hub.Source
	// Revision is what was applied last; of one that is progressing or failed, what it tried to apply.
	Revision Revision
	State    hub.State
	Message  string
	// Observed is when the cluster saw it, by its own clock.
	Observed time.Time // required
	// Since is when the reconciler came into this state, if that is known; by the same clock.
	Since time.Time
}

// branch is what the reconciler follows. Some say it only as part of the revision.
func (o *Observation) branch() string {
	if o.Source.Ref == "" {
		return o.Revision.Name
	}
	return branchName(o.Source.Ref)
}

// since is when the state began, never after now.
func (o *Observation) since(now time.Time) time.Time {
	since := o.Since
	if since.IsZero() || since.After(o.Observed) {
		since = o.Observed
	}
	return earlier(since, now)
}

// observations finds the newest observation of every reconciler by cluster.
type observations struct {
	byCluster map[string][]*Observation
	repoKeys  map[string]string
}

func indexObservations(all []Observation) *observations {
	ix := &observations{byCluster: map[string][]*Observation{}, repoKeys: map[string]string{}}
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

// compareObservations puts the newest of a reconciler first.
func compareObservations(a, b *Observation) int {
	if order := cmp.Compare(a.Reconciler, b.Reconciler); order != 0 {
		return order
	}
	if order := b.Observed.Compare(a.Observed); order != 0 {
		return order
	}
	return compareSimultaneous(a, b)
}

// compareSimultaneous puts the worse of two observations of one time first,
// so that the order of arrival cannot make a difference.
func compareSimultaneous(a, b *Observation) int {
	return cmp.Or(
		cmp.Compare(rank(a.State), rank(b.State)),
		cmp.Compare(a.Revision.String(), b.Revision.String()),
		cmp.Compare(a.Source.Repository, b.Source.Repository),
		cmp.Compare(a.branch(), b.branch()),
		cmp.Compare(a.Source.Path, b.Source.Path),
		cmp.Compare(a.Message, b.Message),
		a.Since.Compare(b.Since),
	)
}

// rank puts the worst state first. An unknown state ranks with failed.
func rank(s hub.State) int {
	return max(slices.Index([]hub.State{hub.StateFailed, hub.StateProgressing, hub.StateSuspended, hub.StateReady}, s), 0)
}

// following returns what belongs to an expected reconciler, and what else of the same repository its cluster follows.
func (ix *observations) following(e *Expected) (mine, others []*Observation) {
	repo, branch := ix.repoKey(e.Source.Repository), branchName(e.Source.Ref)
	for _, o := range ix.byCluster[e.Cluster] {
		if ix.repoKey(o.Source.Repository) != repo {
			continue
		}
		if o.branch() == branch && (e.Source.Path == "" || followsOneWay(e.Source.Path, o.Source.Path)) {
			mine = append(mine, o)
		} else {
			others = append(others, o)
		}
	}
	return mine, others
}

// repoKey remembers the keys, of which a fleet has few.
func (ix *observations) repoKey(address string) string {
	key, ok := ix.repoKeys[address]
	if !ok {
		key = repoKey(address)
		ix.repoKeys[address] = key
	}
	return key
}

// heard is when the cluster was heard of last, never after now; zero when it never was.
func (ix *observations) heard(e *Expected, now time.Time) time.Time {
	heard := e.Heard
	if heard.IsZero() {
		for _, o := range ix.byCluster[e.Cluster] {
			heard = later(heard, o.Observed)
		}
	}
	return earlier(heard, now)
}

// summary shortens a message of a reconciler to what fits into a reason: its first line.
func summary(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, "?"))
	const limit = 120
	if runes := []rune(line); len(runes) > limit {
		line = string(runes[:limit-1]) + "…"
	}
	return strings.TrimSpace(line)
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
