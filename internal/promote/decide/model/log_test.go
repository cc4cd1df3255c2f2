package model

import (
	"slices"
	"time"
)

// log is what happened in an environment and its rings, oldest first.
type log struct {
	n     uint8
	items [maxItems]item
	full  bool
}

// item is an entry of a log, and how many ticks passed until the next one. Ticks that make no difference are not counted.
type item struct{ kind, place, value, ticks uint8 }

const (
	entered  uint8 = iota + 1 // of a revision
	said                      // by the gate: a standing
	measured                  // a result of smoke; the revision is in the upper half
	approved                  // of a commit
	asked                     // for a commit: what was measured and approved of it before does not count
)

// add appends an entry. A log that is full has too many for what happened.
func (l *log) add(i item) {
	if l.full = l.n == maxItems; l.full {
		return
	}
	l.items[l.n] = i
	l.n++
}

// settle gives entries of different places between which no time passed one order, where it makes no difference.
func (l *log) settle() {
	for n := int(l.n) - 1; n > 0 && l.items[n-1].place > l.items[n].place && l.items[n-1].ticks == 0 && l.commute(n-1); n-- {
		a, b := &l.items[n-1], &l.items[n]
		*a, *b = *b, *a
		a.ticks, b.ticks = b.ticks, a.ticks
	}
}

// commute reports whether an entry and the next one, of another place, mean the same in the other order. They do not if the gate of one begins
// to hold while that of the other ends: there may have been a moment in which both held.
func (l *log) commute(n int) bool {
	var holds, ends bool
	for _, i := range l.items[n : n+2] {
		if i.kind != said && i.kind != entered {
			return false
		}
		begins := i.kind == said && standing(i.value) == stands
		holds, ends = holds || begins, ends || !begins
	}
	return !holds || !ends
}

// log adds an entry about a place.
func (m *model) log(w *world, i int, kind, value uint8) {
	l := &w.logs[m.lanes[i]]
	if l.add(item{kind: kind, place: uint8(i), value: value}); !m.exact {
		l.settle()
	}
}

// times yields the entries of a log with their times: each one is a moment before the next, and as many ticks as passed.
func (l *log) times(yield func(n int, at time.Time) bool) {
	at := now
	for n := range l.n {
		at = at.Add(-moment - time.Duration(l.items[n].ticks)*tickTime)
	}
	for n := range l.n {
		if !yield(int(n), at) {
			return
		}
		at = at.Add(moment + time.Duration(l.items[n].ticks)*tickTime)
	}
}

// note adds to the logs what the gates say now.
func (m *model) note(w *world) {
	for i := range m.places {
		if m.places[i].clusters == 0 {
			continue
		}
		if is, last := m.says(w, i); is != last {
			m.log(w, i, said, uint8(is))
		}
	}
}

// says returns what the gate of a place says now, and what it said last of the present revision.
func (m *model) says(w *world, i int) (is, last standing) {
	held := false
	l := &w.logs[m.lanes[i]]
	for n := range l.n {
		switch at := l.items[n]; {
		case int(at.place) != i:
		case at.kind == entered:
			held, last = false, nothing
		case at.kind == said:
			last = standing(at.value)
			held = held || last == stands
		}
	}
	switch is = m.standing(w, i); {
	case is == behind && !held && m.unwell(w, i):
		return troubled, last
	case is == behind && !held, is == unknown && !held:
		return waiting, last
	default:
		return is, last
	}
}

// unwell reports whether a cluster of a place is known not to be well.
func (m *model) unwell(w *world, i int) bool {
	return slices.ContainsFunc(w.places[i].all(m.places[i].clusters), func(c cluster) bool { return !c.offline() && c.knownHealth != well })
}

// matters reports whether the time that passes now makes a difference: a soak of an environment, or of one of its rings, is not over yet.
func (m *model) matters(w *world, i int) bool {
	rings := m.rings(i)
	if len(rings) == 0 {
		return m.soaks(w, i)
	}
	return m.soakTogether(w, i) || slices.ContainsFunc(rings, func(j int) bool { return m.soaks(w, j) })
}

// soaks reports whether a commit soaks in a place that has clusters of its own, or may be taken to soak by mistake: without its verifications, or
// while the clusters are silent, run another commit or have failed.
func (m *model) soaks(w *world, i int) bool {
	if m.soak(i) == 0 {
		return false
	}
	l, p := &w.logs[m.lanes[i]], &w.places[i]
	var clocks [maxCommits + 1]uint8
	var alive, smoke, release uint8
	var current, last, spent uint8
	for _, it := range l.items[:l.n] {
		switch {
		case int(it.place) != i:
		case it.kind == entered:
			if p.commitOf(it.value) < current {
				alive = 0
			}
			current, last, spent = p.commitOf(it.value), uint8(waiting), 0
		case it.kind == measured && it.value&15 == smokePassed:
			smoke = with(smoke, p.commitOf(it.value>>4))
		case it.kind == approved:
			release = with(release, it.value)
		case it.kind == asked:
			smoke, release, alive = without(smoke, it.value), without(release, it.value), without(alive, it.value)
		case it.kind == said:
			last, spent = it.value, 0
			if standing(last) > unknown || standing(last) == troubled {
				clocks = [maxCommits + 1]uint8{}
			}
		}
		verified := (!m.places[i].smoke || has(smoke, current)) && (!m.places[i].release || has(release, current))
		if standing(last) == stands && verified && !has(alive, current) {
			alive = with(alive, current)
			clocks[current] = 0
		}
		spent += it.ticks
		for c := range clocks {
			if standing(last) == stands && has(alive, uint8(c)) {
				clocks[c] += it.ticks
			}
		}
	}
	if spent < m.soak(i) {
		return standing(last) == stands || standing(last) >= unknown
	}
	for c := range clocks {
		if standing(last) == stands && has(alive, uint8(c)) && clocks[c] < m.soak(i) {
			return true
		}
	}
	return false
}

// soakTogether reports the same of an environment with rings, whose clusters are all together. It counts from the last change of what the
// environment or a ring has, and of what is known of its verifications.
func (m *model) soakTogether(w *world, i int) bool {
	if m.soak(i) == 0 {
		return false
	}
	var last [maxPlaces]standing
	worst := func() standing {
		is := stands
		for _, j := range m.rings(i) {
			is = max(is, last[j])
		}
		return is
	}
	var clock, spent uint8
	l := &w.logs[m.lanes[i]]
	for _, it := range l.items[:l.n] {
		spent = 0
		switch it.kind {
		case entered:
			last[it.place], clock = waiting, 0
		case said:
			last[it.place] = standing(it.value)
		default:
			clock = 0
		}
		if is := worst(); is == stands {
			clock += it.ticks
		} else if is != unknown {
			clock = 0
		}
		spent += it.ticks
	}
	if worst() == stands {
		return clock < m.soak(i)
	}
	return worst() >= unknown && spent < m.soak(i)
}
