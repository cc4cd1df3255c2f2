package model

import (
	"fmt"
	"slices"
)

// kind is the kind of an event.
type kind uint8

const (
	pushes kind = iota
	ticks
	rounds
	follows
	// failsThere is a cluster that follows, and fails because of what it runs then.
	failsThere
	// breaks is a cluster that fails by itself, and heals one that is well again.
	breaks
	heals
	// drifts is a cluster that runs an older revision again.
	drifts
	cuts
	joins
	passes
	failsSmoke
	loses // the answer of a verification
	approves
	merges
	closes
	publishes
	pauses
	resumes
	requests
	rollsBack
	aborts
	skips
)

// event is one step of the world.
type event struct {
	kind    kind
	place   uint8
	cluster uint8
	// n is a commit; of a round, how many of its actions are carried out.
	n uint8
}

// isFault and isCommand report which budget an event needs.
func (k kind) isFault() bool {
	return slices.Contains([]kind{failsThere, breaks, drifts, cuts, failsSmoke, loses}, k)
}

func (k kind) isCommand() bool {
	return slices.Contains([]kind{closes, pauses, requests, rollsBack, aborts, skips}, k)
}

// may reports whether events of a kind happen in this configuration, and there is a budget left for them.
func (m *model) may(w *world, k kind) bool {
	if k.isFault() && w.faults == 0 || k.isCommand() && w.commands == 0 {
		return false
	}
	switch k {
	case heals:
		k = breaks
	case joins:
		k = cuts
	case resumes:
		k = pauses
	case follows, passes, approves, merges, publishes:
		return true
	}
	return slices.Contains(m.events, k)
}

// enabled returns the events that can happen in a state.
func (m *model) enabled(w *world) []event {
	events := []event{{kind: ticks}}
	for n := range len(m.ask(w).moves) {
		events = append(events, event{kind: rounds, n: uint8(n + 1)})
	}
	if w.line < m.commits {
		events = append(events, event{kind: pushes, n: w.line + 1})
	}
	can := func(e event) {
		if m.may(w, e.kind) {
			events = append(events, e)
		}
	}
	for i := range m.places {
		for c := range m.places[i].clusters {
			m.clusterEvents(w, uint8(i), c, can)
		}
		m.userEvents(w, i, can)
	}
	return events
}

// clusterEvents adds the events of a cluster.
func (m *model) clusterEvents(w *world, at, c uint8, can func(event)) {
	p := &w.places[at]
	k := &p.clusters[c]
	is := func(kind kind) { can(event{kind: kind, place: at, cluster: c}) }
	if k.runs != p.head {
		is(follows)
		if k.health != broken {
			is(failsThere)
		}
	}
	if k.health == broken {
		is(heals)
	} else {
		is(breaks)
	}
	if k.runs == p.head && k.runs > 1 && k.health == well {
		is(drifts)
	}
	if k.cut {
		is(joins)
	} else {
		is(cuts)
	}
}

// userEvents adds the answers of a verification, and what users do.
func (m *model) userEvents(w *world, i int, can func(event)) {
	p, config := &w.places[i], &m.places[i]
	is := func(kind kind, n uint8) { can(event{kind: kind, place: uint8(i), n: n}) }
	if p.measuring != 0 {
		is(passes, 0)
		is(failsSmoke, 0)
		is(loses, 0)
	}
	if config.release && !has(p.approved, p.commit) && !m.delivering(w, i) {
		is(approves, p.commit)
	}
	if p.proposal != 0 {
		is(merges, p.proposal)
		is(closes, p.proposal)
	}
	if m.delivering(w, i) {
		is(publishes, p.commit)
	}
	if p.paused {
		is(resumes, 0)
	}
	if !config.users {
		return
	}
	if !p.paused {
		is(pauses, 0)
	}
	if m.ask(w).returns[i] {
		is(rollsBack, 0)
	}
	if has := has(p.aborted, m.named(w, i)); !has {
		is(aborts, m.named(w, i))
	}
	if c := p.commitOf(p.published); config.ring && c != p.current() && !has(p.skipped, c) {
		is(skips, c)
	}
	for c := uint8(1); c <= w.line && !config.ring; c++ {
		if c != p.request {
			is(requests, c)
		}
	}
}

// apply returns the state after an event, and what it violates.
func (m *model) apply(w world, e event) (world, error) {
	if e.kind == rounds {
		return m.round(w, int(e.n))
	}
	if e.kind.isFault() {
		w.faults--
	}
	if e.kind.isCommand() && w.commands > 0 {
		w.commands--
	}
	p := &w.places[e.place]
	switch e.kind {
	case pushes:
		w.line++
	case ticks:
		m.tick(&w)
	case passes, failsSmoke, loses:
		m.answer(&w, e)
	case approves:
		p.approved = with(p.approved, e.n)
		m.log(&w, int(e.place), approved, e.n)
	case merges:
		m.enterPlace(&w, int(e.place), e.n)
	case closes:
		p.proposal, p.closed = 0, e.n
	case skips:
		p.skipped = with(p.skipped, e.n)
	case publishes:
		m.deliver(&w, int(e.place))
	case pauses, resumes:
		p.paused = e.kind == pauses
	case rollsBack, requests, aborts:
		m.command(&w, e)
	default:
		p.clusters[e.cluster].happens(e.kind, p.head)
	}
	return m.after(w), nil
}

// after completes a state after an event.
func (m *model) after(w world) world {
	m.note(&w)
	m.observe(&w)
	return m.canonical(w)
}

// happens changes a cluster.
func (c *cluster) happens(k kind, head uint8) {
	switch k {
	case follows, failsThere:
		c.runs = head
		if c.health != broken {
			c.health = well
		}
		if k == failsThere {
			c.health = fails
		}
	case breaks:
		c.health = broken
	case heals:
		c.health = well
	case drifts:
		c.runs--
	case cuts, joins:
		c.cut = k == cuts
	}
	if !c.cut {
		c.silent, c.knownRuns, c.knownHealth = 0, c.runs, c.health
	}
}

// tick lets time pass.
func (m *model) tick(w *world) {
	m.count(w)
	for i := range m.places {
		p := &w.places[i]
		for c := range m.places[i].clusters {
			if k := &p.clusters[c]; k.cut {
				k.silent = min(k.silent+1, offlineAfter)
			}
		}
	}
	for i := range m.places {
		if !m.places[i].ring && (m.exact || m.matters(w, i)) {
			l := &w.logs[m.lanes[i]]
			l.items[l.n-1].ticks++
		}
	}
}

// answer ends a measurement.
func (m *model) answer(w *world, e event) {
	p := &w.places[e.place]
	result := map[kind]uint8{passes: smokePassed, failsSmoke: smokeFailed}[e.kind]
	if result != notMeasured {
		p.smoke[p.measuring-1] = result
		m.log(w, int(e.place), measured, p.measuring<<4|result)
	}
	p.measuring = 0
}

// command records a user's command.
func (m *model) command(w *world, e event) {
	i := int(e.place)
	p := &w.places[i]
	o := order{kind: e.kind, place: e.place, value: e.n, line: w.line}
	switch e.kind {
	case rollsBack:
		o.value = p.commit
		if m.places[i].ring {
			o.value = p.head
		}
		p.request = 0
		m.takeBack(w, i, m.named(w, i))
	case requests:
		p.aborted, p.closed = without(p.aborted, e.n), 0
		if p.request = e.n; e.n == p.commit {
			p.request = 0
		}
		m.lift(w, i, e.n)
		m.forget(w, i, e.n)
	case aborts:
		p.aborted = with(p.aborted, e.n)
		m.takeBackOne(w, i, e.n)
	}
	n := slices.IndexFunc(w.orders[:], func(o order) bool { return o == order{} })
	if n < 0 {
		panic("too many commands in this configuration: raise maxOrders")
	}
	w.orders[n] = o
}

// forget ends what is known of the verifications of a commit, because a user requested it.
func (m *model) forget(w *world, i int, commit uint8) {
	p := &w.places[i]
	m.log(w, i, asked, commit)
	p.approved = without(p.approved, commit)
	for r, c := range p.revisions {
		if c == commit {
			p.smoke[r] = notMeasured
		}
	}
	if m.places[i].smoke || m.places[i].release {
		p.truth.checked, p.truth.good = without(p.truth.checked, commit), without(p.truth.good, commit)
	}
}

// text returns an event in words.
func (m *model) text(e event) string {
	name := m.places[e.place].name
	switch e.kind {
	case pushes:
		return "push " + commitText(e.n)
	case ticks:
		return "tick"
	case rounds:
		return fmt.Sprintf("round %d", e.n)
	}
	if word, ok := clusterWords[e.kind]; ok {
		return name + " " + clusterText(e.cluster) + " " + word
	}
	text := name + ": " + userWords[e.kind]
	if e.n != 0 {
		text += " " + commitText(e.n)
	}
	return text
}

var (
	clusterWords = map[kind]string{
		follows: "follows", failsThere: "follows and fails", breaks: "breaks", heals: "heals", drifts: "runs an older commit",
		cuts: "is cut off", joins: "is back",
	}
	userWords = map[kind]string{
		passes: "smoke passes", failsSmoke: "smoke fails", loses: "the answer of smoke is lost", approves: "approve", merges: "merge",
		closes: "close", publishes: "publish",
		pauses: "pause", resumes: "resume", requests: "request", rollsBack: "roll back", aborts: "abort", skips: "skip",
	}
)
