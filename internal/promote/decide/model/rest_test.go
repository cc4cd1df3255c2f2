package model

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// rest checks that a fleet comes to rest with its newest commit: from each state, if nothing else goes wrong, and users and clusters answer.
// If the newest commit is known to be bad, or users gave commands about it, that is the fix that is pushed then.
type rest struct {
	*model
	// fine are states from which it does.
	fine  map[uint64]bool
	seed  maphash.Seed
	steps int
}

func newRest(m *model) *rest {
	return &rest{model: m, fine: map[uint64]bool{}, seed: maphash.MakeSeed()}
}

// tooLong is how many events are enough to come to rest.
const tooLong = 300

// check returns an error with what the places do in the end if a state does not come to rest with the newest commit everywhere.
func (r *rest) check(w world) error {
	var passed []uint64
	for range tooLong {
		key := maphash.Comparable(r.seed, w)
		if r.fine[key] {
			r.keep(passed)
			return nil
		}
		passed = append(passed, key)
		r.steps++
		e, more := r.next(&w)
		switch {
		case slices.ContainsFunc(w.logs[:], func(l log) bool { return l.full }):
			return fmt.Errorf("it does not come to rest: more happens than was asked for:\n  %s", r.describe(&w))
		case more:
			w, _ = r.apply(w, e)
		case r.arrived(&w):
			r.keep(passed)
			return nil
		case r.pending(&w) >= 0:
			w, _ = r.apply(w, event{kind: requests, place: uint8(r.pending(&w)), n: w.line})
		case w.line <= r.commits && (r.known(&w) || w.commands < r.commands):
			w.line = r.commits + 1
		default:
			return fmt.Errorf("%s does not arrive:\n  %s", commitText(w.line), r.describe(&w))
		}
	}
	return fmt.Errorf("it does not come to rest:\n  %s", r.describe(&w))
}

func (r *rest) keep(passed []uint64) {
	for _, key := range passed {
		r.fine[key] = true
	}
}

// next returns the next event if all goes well: the program first, then users and clusters, and then time passes.
func (r *rest) next(w *world) (event, bool) {
	if n := len(r.ask(w).moves); n > 0 {
		return event{kind: rounds, n: uint8(n)}, true
	}
	for i, config := range r.places {
		p, at := &w.places[i], uint8(i)
		switch {
		case p.paused:
			return event{kind: resumes, place: at}, true
		case r.delivering(w, i):
			return event{kind: publishes, place: at, n: p.commit}, true
		case p.measuring != 0:
			return event{kind: passes, place: at}, true
		case config.release && !has(p.approved, p.commit):
			return event{kind: approves, place: at, n: p.commit}, true
		case p.proposal != 0:
			return event{kind: merges, place: at, n: p.proposal}, true
		}
		for c := range config.clusters {
			switch k := &p.clusters[c]; {
			case k.cut:
				return event{kind: joins, place: at, cluster: c}, true
			case k.health == broken:
				return event{kind: heals, place: at, cluster: c}, true
			case k.runs != p.head:
				return event{kind: follows, place: at, cluster: c}, true
			}
		}
	}
	later, _ := r.apply(*w, event{kind: ticks})
	return event{kind: ticks}, later != *w
}

// arrived reports whether every place has the newest commit, and runs it.
func (r *rest) arrived(w *world) bool {
	for i := range r.places {
		if r.named(w, i) != w.line || r.delivering(w, i) || r.standing(w, i) != stands || !r.verified(w, i) {
			return false
		}
	}
	return true
}

// pending returns a place for which users requested a commit that cannot enter, and not the newest one; -1 if there is none.
func (r *rest) pending(w *world) int {
	return slices.IndexFunc(w.places[:], func(p place) bool { return p.request != 0 && p.request != w.line })
}

// known reports whether the newest commit is known to be bad somewhere.
func (r *rest) known(w *world) bool {
	for i := range r.places {
		if p := &w.places[i]; has(p.truth.bad, w.line) || has(p.truth.taken, w.line) {
			return true
		}
	}
	return false
}

func (r *rest) describe(w *world) string {
	v := w.visible()
	var lines []string
	for _, d := range r.decisions(&v, circumstances{}) {
		lines = append(lines, fmt.Sprintf("%s, %s: %s", d.Environment, d.State, d.Reason))
	}
	return strings.Join(lines, "\n  ")
}
