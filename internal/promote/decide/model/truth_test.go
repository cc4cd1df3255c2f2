package model

import (
	"fmt"
	"slices"
)

// truth is what a place really ran, as far as it was reported: a cluster that is silent is unknown. It is kept from tick to tick, and knows
// neither carriers nor spans.
type truth struct {
	// clock is how many ticks the place has run each commit, or newer ones that contain it, without a gap.
	clock [maxCommits + 1]uint8
	// checked are the commits that had the gate, the verification and the approval at the same time, while they were the place's commit.
	// good are those that then ran for the soak, and have not failed since.
	checked, good uint8
	// fine are the revisions with which a commit was good, and that have not failed themselves.
	fine uint8
	// held means that the gate held since the present one entered.
	held bool
	// bad are the commits that have ever failed here.
	bad uint8
	// taken are the commits that users took back here, or in a place before.
	taken uint8
	// from and to are the commits of the last move back, unless it was one that a user wanted for this place alone.
	from, to uint8
}

// standing is what is known of a place's clusters with regard to its commit.
type standing uint8

const (
	nothing standing = iota // is known yet
	stands
	waiting
	troubled // like waiting, and a cluster that has not got there is not well
	unknown
	behind
	failing
)

// standing returns what is known now of the clusters that are to run what a place has.
func (m *model) standing(w *world, i int) standing {
	worst := stands
	for _, j := range m.deploys(i) {
		p := &w.places[j]
		if i != j && (p.head != w.places[i].published || p.current() != w.places[i].current()) {
			worst = max(worst, behind)
		}
		for _, c := range p.all(m.places[j].clusters) {
			switch {
			case c.offline():
				worst = max(worst, unknown)
			case c.knownRuns == p.head && c.knownHealth != well:
				worst = max(worst, failing)
			case c.knownRuns != p.head || c.knownHealth != well:
				worst = max(worst, behind)
			}
		}
	}
	return worst
}

// runs reports whether the clusters of a place are known to run a commit, or newer ones that contain it. Clusters that run an older one while
// a newer one is on its way say nothing.
func (m *model) runs(w *world, i int, commit uint8) standing {
	worst := stands
	for _, j := range m.deploys(i) {
		p := &w.places[j]
		for _, c := range p.all(m.places[j].clusters) {
			switch {
			case c.offline():
				worst = max(worst, unknown)
			case c.knownHealth != well:
				worst = max(worst, failing)
			case p.commitOf(c.knownRuns) < commit && p.truth.held:
				worst = max(worst, behind)
			case p.commitOf(c.knownRuns) < commit:
				worst = max(worst, waiting)
			}
		}
	}
	return worst
}

// soak is how long a commit must run in a place before it enters the next one.
func (m *model) soak(i int) uint8 {
	if m.places[i].ring {
		return m.places[i].soak
	}
	for _, p := range m.places {
		if !p.ring && p.after == i {
			return p.soak
		}
	}
	return 0
}

// count counts the tick that ends now.
func (m *model) count(w *world) {
	for i := range m.places {
		t := &w.places[i].truth
		for c := uint8(1); c <= w.line; c++ {
			if m.runs(w, i, c) == stands {
				t.clock[c] = min(t.clock[c]+1, m.soak(i))
			}
		}
	}
	m.observe(w)
}

// observe updates the truth after an event.
func (m *model) observe(w *world) {
	for i := len(m.places) - 1; i >= 0; i-- { // rings before their environment
		p := &w.places[i]
		t := &p.truth
		current := m.commitAt(w, i)
		for c := uint8(1); c <= w.line; c++ {
			if m.runs(w, i, c) > unknown {
				t.clock[c] = 0
			}
		}
		if m.standing(w, i) == failing || m.smoke(w, i) == smokeFailed {
			t.good, t.checked, t.clock[current] = without(t.good, current), without(t.checked, current), 0
			t.fine, t.bad = without(t.fine, p.head-1), with(t.bad, current)
		}
		if m.standing(w, i) == stands {
			t.held = true
		}
		if m.standing(w, i) == stands && m.verified(w, i) {
			t.checked = with(t.checked, current)
		}
		for c := uint8(1); c <= w.line; c++ {
			own := m.places[i].smoke || m.places[i].release || len(m.rings(i)) == 0
			if (has(t.checked, c) || !own) && t.clock[c] >= m.soak(i) && m.goodInRings(w, i, c) {
				t.good = with(t.good, c)
				if c == current {
					t.fine = with(t.fine, p.head-1)
				}
			}
		}
	}
}

func (m *model) goodInRings(w *world, i int, commit uint8) bool {
	for _, r := range m.rings(i) {
		if !has(w.places[r].truth.checked, commit) {
			return false
		}
	}
	return true
}

// smoke is the result of the verification of what a place has.
func (m *model) smoke(w *world, i int) uint8 {
	p := &w.places[i]
	if !m.places[i].smoke {
		return smokePassed
	}
	return p.smoke[p.head-1]
}

func (m *model) verified(w *world, i int) bool {
	return m.smoke(w, i) == smokePassed && (!m.places[i].release || has(w.places[i].approved, m.commitAt(w, i)))
}

// before returns the places in which a commit must have been good before it enters a place.
func (m *model) before(i int) []int {
	var before []int
	if !m.places[i].ring && m.places[i].after >= 0 {
		before = append(before, m.places[i].after)
	}
	for j := range i {
		if m.places[i].ring && m.places[j].ring && m.places[j].after == m.places[i].after {
			before = append(before, j)
		}
	}
	return before
}

// checkEntry judges that a commit enters a place, by the state in which that was decided.
func (m *model) checkEntry(w *world, i int, commit, revision uint8, requested bool) error {
	name := m.places[i].name
	if has(w.places[i].truth.taken, commit) && !requested {
		return fmt.Errorf("%s enters %s, and was taken back", commitText(commit), name)
	}
	if commit < m.commitAt(w, i) && (m.places[i].ring || !requested) && m.checkReturn(w, i, commit, revision) == nil {
		return nil
	}
	for _, j := range m.before(i) {
		t := &w.places[j].truth
		switch {
		case commit == m.commitAt(w, i): // another revision of the same commit
		case has(w.places[j].skipped, commit):
		case has(t.taken, commit):
			return fmt.Errorf("%s enters %s, and was taken back in %s", commitText(commit), name, m.places[j].name)
		case !has(t.good, commit):
			return fmt.Errorf("%s enters %s, and was never good in %s: %s", commitText(commit), name, m.places[j].name, m.explain(w, j, commit))
		case m.commitAt(w, j) == commit && m.standing(w, j) != stands:
			return fmt.Errorf("%s enters %s, and the gate of %s does not hold", commitText(commit), name, m.places[j].name)
		}
	}
	return nil
}

// explain says why a commit is not good in a place.
func (m *model) explain(w *world, i int, commit uint8) string {
	t := &w.places[i].truth
	switch {
	case !has(t.checked, commit):
		return "it did not have the gate, the verification and the approval"
	case t.clock[commit] < m.soak(i):
		return fmt.Sprintf("it ran for %d of %d ticks", t.clock[commit], m.soak(i))
	default:
		return "it was not good in a ring"
	}
}

// checkReturn judges that a place goes back to a commit.
func (m *model) checkReturn(w *world, i int, commit, revision uint8) error {
	t := &w.places[i].truth
	name := m.places[i].name
	switch {
	case commit == m.commitAt(w, i): // to another revision of the same commit
		return nil
	case has(t.taken, commit):
		return fmt.Errorf("%s goes back to %s, which was taken back", name, commitText(commit))
	case !has(t.good, commit) && !(m.places[i].ring && has(t.fine, revision-1)):
		return fmt.Errorf("%s goes back to %s, which was never good there: %s", name, commitText(commit), m.explain(w, i, commit))
	}
	for _, j := range m.rings(m.environment(i)) {
		other := &w.places[j].truth
		if j == i || !m.places[i].ring || m.commanded(w, i) || other.from != m.commitAt(w, i) {
			continue
		}
		if other.to != 0 && other.to != commit && !has(t.taken, other.to) {
			return fmt.Errorf("%s goes back from %s to %s, and %s to %s",
				name, commitText(other.from), commitText(commit), m.places[j].name, commitText(other.to))
		}
	}
	return nil
}

// commanded reports whether a user took back what a place has.
func (m *model) commanded(w *world, i int) bool {
	is := w.places[i].commit
	if m.places[i].ring {
		is = w.places[i].head
	}
	return slices.ContainsFunc(w.orders[:], func(o order) bool { return o.kind == rollsBack && int(o.place) == i && o.value == is })
}

// later returns a place and those after it, to which what a user says about the place applies. What is said about a ring says nothing about
// its environment, but about what comes after it.
func (m *model) later(i int) map[int]bool {
	barred := map[int]bool{i: true}
	for _, j := range m.rings(m.environment(i)) {
		barred[j] = j >= i
	}
	for j := m.environment(i) + 1; j < len(m.places); j++ {
		if after := m.places[j].after; !m.places[j].ring && (after == m.environment(i) || after >= 0 && barred[after]) {
			barred[j] = true
			for _, r := range m.rings(j) {
				barred[r] = true
			}
		}
	}
	return barred
}

// named is the commit that a place is to have.
func (m *model) named(w *world, i int) uint8 {
	if m.places[i].ring {
		return w.places[i].current()
	}
	return w.places[i].commit
}

// takeBack marks a commit that a user's rollback takes back, and those that contain it.
func (m *model) takeBack(w *world, i int, commit uint8) {
	for c := commit; c <= w.line; c++ {
		m.takeBackOne(w, i, c)
	}
}

// takeBackOne marks a commit that is taken back in a place, and in those after it.
func (m *model) takeBackOne(w *world, i int, commit uint8) {
	for j, is := range m.later(i) {
		if is {
			w.places[j].truth.taken = with(w.places[j].truth.taken, commit)
		}
	}
}

// lift ends that a commit is taken back, because a user requests it. If it was rolled back itself, this undoes the rollback.
func (m *model) lift(w *world, i int, commit uint8) {
	all := slices.ContainsFunc(w.orders[:], func(o order) bool { return o.kind == rollsBack && int(o.place) == i && o.value == commit })
	for j, is := range m.later(i) {
		if is {
			for c := commit; c <= w.line && all || c == commit; c++ {
				w.places[j].truth.taken = without(w.places[j].truth.taken, c)
			}
		}
	}
}
