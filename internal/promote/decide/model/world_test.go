package model

import (
	"fmt"
	"slices"
)

// A configuration is a small fleet, and what can happen to it.
type configuration struct {
	name   string
	places []placeConfig
	// states is how many states there are at least. Far fewer than before mean that something is not explored any more.
	states int
	// commits is how many are on the line in the end. The first one runs everywhere in the beginning.
	commits uint8
	// faults is how many faults happen in one life of the fleet, and commands how many commands users give.
	faults, commands uint8
	// records means that decisions are compared with those when records are lost.
	records bool
	// events are those that can happen, besides pushes, ticks and rounds.
	events []kind
}

// placeConfig is an environment, or a ring of the environment before it.
type placeConfig struct {
	name string
	ring bool
	// after is the environment before this one, by its position; -1 for a first environment. For a ring, it is its environment.
	after int
	// soak is how many ticks a commit runs in the environment before this one; for a ring, how many ticks it runs in it before it enters the
	// next.
	soak     uint8
	clusters uint8
	// smoke and release are a verification and an approval. byHand means that users merge what is promoted to the place.
	smoke, release, byHand bool
	// delivers means that the manifests of a commit are published later than the environment names it, as an event.
	delivers bool
	// back means that the place goes back by itself after a failure.
	back bool
	// users means that users give commands for the place.
	users bool
}

const (
	maxCommits      = 5
	maxEnvironments = 2
	maxPlaces       = 4
	maxClusters     = 2
	maxRevisions    = 8
	maxItems        = 56
	maxOrders       = 5
)

// world is one state of the model. It has no pointers, so that equal states are equal values.
type world struct {
	line             uint8 // commits 1 to line are on it
	faults, commands uint8 // that are left
	places           [maxPlaces]place
	// logs hold what the ledger knows of each environment and its rings.
	logs [maxEnvironments]log
	// orders are the users' commands that depend on their order, oldest first.
	orders [maxOrders]order
}

// place is an environment, or a ring. What an environment without rings deploys is in the same place.
type place struct {
	// commit is the promoted commit of an environment. Its manifests are not published yet if it is not that of the last revision. revisions are
	// the commits of its GitOps branch; of a ring, they are those of its environment.
	commit    uint8
	published uint8
	revisions [maxRevisions]uint8
	// head is the revision that the place's clusters follow, from 1.
	head     uint8
	clusters [maxClusters]cluster

	paused   bool
	request  uint8 // what was requested and has not entered since: a commit; in a ring, a revision
	aborted  uint8 // a set of commits
	skipped  uint8 // a set of commits that need not run here
	approved uint8 // a set of commits
	// proposal is the commit of an open pull request, and closed that of one that was closed.
	proposal, closed uint8
	// smoke is the result of the verification, by revision. measuring is the revision that is being measured.
	smoke     [maxRevisions]uint8
	measuring uint8

	truth truth
}

// cluster is a cluster: what it does, and what was reported of it.
type cluster struct {
	runs   uint8 // a revision
	health uint8
	cut    bool
	// silent is how many ticks ago it was last heard.
	silent uint8
	// knownRuns and knownHealth are what was reported last.
	knownRuns, knownHealth uint8
}

// order is a user's command, and how long the line was by then.
type order struct {
	kind  kind
	place uint8
	// value is a commit; in a ring, a revision.
	value uint8
	line  uint8
}

const (
	well   uint8 = iota
	fails        // because of what it runs
	broken       // by itself, whatever it runs
)

const (
	notMeasured uint8 = iota
	smokePassed
	smokeFailed
)

// offlineAfter is after how many ticks without a report a cluster is offline.
const offlineAfter = 1

func has(set, commit uint8) bool       { return set&(1<<commit) != 0 }
func with(set, commit uint8) uint8     { return set | 1<<commit }
func without(set, commit uint8) uint8  { return set &^ (1 << commit) }
func (c *cluster) offline() bool       { return c.silent >= offlineAfter }
func (p *place) current() uint8        { return p.commitOf(p.head) }
func (p *place) all(n uint8) []cluster { return p.clusters[:n] }
func commitText(commit uint8) string   { return string(rune('a' + commit - 1)) }
func clusterText(cluster uint8) string { return fmt.Sprint(cluster + 1) }

func (p *place) commitOf(revision uint8) uint8 {
	if revision == 0 {
		return 0
	}
	return p.revisions[revision-1]
}

// model is a configuration, with what is derived from it once.
type model struct {
	configuration
	*program
	longest uint8 // soak
	lanes   []int // the log of each place
	// exact means that nothing is left out of the logs.
	exact bool
}

func newModel(c configuration) *model {
	m := &model{configuration: c}
	lane := -1
	for _, p := range c.places {
		m.longest = max(m.longest, p.soak)
		if !p.ring {
			lane++
		}
		m.lanes = append(m.lanes, lane)
	}
	m.program = newProgram(m)
	return m
}

// begin returns the first state: every place runs the first commit, and has for a long time.
func (m *model) begin() world {
	w := world{line: 1, faults: m.faults, commands: m.commands}
	for i, config := range m.places {
		p := &w.places[i]
		p.commit, p.published, p.head = 1, 1, 1
		p.revisions[0] = 1
		m.log(&w, i, entered, 1)
		if config.smoke {
			p.smoke[0] = smokePassed
			m.log(&w, i, measured, 1<<4|smokePassed)
		}
		if config.release {
			p.approved = with(0, 1)
			m.log(&w, i, approved, 1)
		}
		for c := range config.clusters {
			p.clusters[c] = cluster{runs: 1, knownRuns: 1}
		}
		p.truth = truth{checked: with(0, 1), good: with(0, 1), fine: with(0, 0), held: true}
		p.truth.clock[1] = m.longest
	}
	m.note(&w)
	for l := range w.logs {
		if n := w.logs[l].n; n > 0 {
			w.logs[l].items[n-1].ticks = m.longest
		}
	}
	return w
}

// environment returns the position of the environment to which a place belongs.
func (m *model) environment(i int) int {
	if m.places[i].ring {
		return m.places[i].after
	}
	return i
}

// rings returns the positions of an environment's rings.
func (m *model) rings(i int) []int {
	var rings []int
	for j, p := range m.places {
		if p.ring && p.after == i {
			rings = append(rings, j)
		}
	}
	return rings
}

// deploys returns the places whose clusters run what a place has: its rings, or itself.
func (m *model) deploys(i int) []int {
	if rings := m.rings(i); len(rings) > 0 {
		return rings
	}
	return []int{i}
}

// commitAt is the commit that the clusters of a place follow.
func (m *model) commitAt(w *world, i int) uint8 { return w.places[i].current() }

// delivering reports whether the manifests of what an environment has are not published yet.
func (m *model) delivering(w *world, i int) bool {
	return !m.places[i].ring && w.places[i].commit != w.places[i].current()
}

// publish adds a commit to the GitOps branch of an environment, for its rings, too.
func (m *model) publish(w *world, i int, commit uint8) {
	e := &w.places[i]
	if e.published == maxRevisions {
		w.logs[m.lanes[i]].full = true
		return
	}
	e.revisions[e.published] = commit
	e.published++
	e.head = e.published
	for _, r := range m.rings(i) {
		w.places[r].published, w.places[r].revisions = e.published, e.revisions
	}
}

// canonical returns the state that stands for all that differ only in which of a place's clusters is which.
func (m *model) canonical(w world) world {
	for i := range m.places {
		if n := m.places[i].clusters; n > 1 {
			slices.SortFunc(w.places[i].clusters[:n], func(a, b cluster) int { return int(a.number()) - int(b.number()) })
		}
	}
	return w
}

// number identifies the state of a cluster.
func (c cluster) number() uint32 {
	n := uint32(c.runs)<<16 | uint32(c.health)<<14 | uint32(c.silent)<<8 | uint32(c.knownRuns)<<4 | uint32(c.knownHealth)<<1
	if c.cut {
		n++
	}
	return n
}

// visible returns what the program can know of a state.
func (w *world) visible() world {
	v := *w
	v.faults, v.commands = 0, 0
	for i := range v.places {
		p := &v.places[i]
		p.truth = truth{}
		for c := range p.clusters {
			k := &p.clusters[c]
			k.runs, k.health, k.cut = 0, 0, false
		}
	}
	return v
}
