package model

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// limit ends an exploration that does not end by itself. No configuration comes near it.
const limit = 100_000

// exploration is what is found from the first state.
type exploration struct {
	states, transitions, depth int
	// violation is what the shortest trace violates; nil if there is none. trace are its events.
	violation error
	trace     []string
}

func (x *exploration) String() string {
	text := fmt.Sprintf("%d states, %d transitions, depth %d", x.states, x.transitions, x.depth)
	if x.violation != nil {
		text += fmt.Sprintf("\n%v, after\n  %s", x.violation, strings.Join(x.trace, "\n  "))
	}
	return text
}

// explore visits all states until something is violated, or there are limit of them.
func (m *model) explore(limit int) *exploration {
	return m.search(limit, func(error) bool { return true }, newRest(m))
}

// search visits all states, the nearest first, until a violation stops it or there are limit states. It judges all actions, and the states
// themselves if atRest is set.
func (m *model) search(limit int, stops func(error) bool, atRest *rest) *exploration {
	s := search{seen: map[[2]uint64]bool{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	x := &exploration{}
	s.add(m.begin(), origin{from: -1})
	for ; len(s.next) > 0 && len(s.origins) < limit; x.depth++ {
		level := s.next
		s.next = nil
		for i := range level {
			at := &level[i]
			for _, e := range m.enabled(&at.world) {
				x.transitions++
				o := origin{at.id, e}
				w, violation := m.apply(at.world, e)
				if s.add(w, o) && violation == nil && atRest != nil {
					violation = m.judge(&w, atRest)
				}
				if violation != nil && stops(violation) {
					x.states, x.violation, x.trace = len(s.origins), violation, m.trace(s.origins, o)
					return x
				}
			}
		}
	}
	x.states = len(s.origins)
	return x
}

// search is what is known during a search. Of a state that was seen, it keeps a hash; the events that lead to it lead to it again.
type search struct {
	seen    map[[2]uint64]bool
	seeds   [2]maphash.Seed
	origins []origin
	next    []reached
}

// origin is how a state was reached first.
type origin struct {
	from int32
	by   event
}

type reached struct {
	world
	id int32
}

// add adds a state, and reports whether it is new.
func (s *search) add(w world, o origin) bool {
	key := [2]uint64{maphash.Comparable(s.seeds[0], w), maphash.Comparable(s.seeds[1], w)}
	if s.seen[key] {
		return false
	}
	s.seen[key] = true
	s.next = append(s.next, reached{w, int32(len(s.origins))})
	s.origins = append(s.origins, o)
	return true
}

// judge returns what a state itself violates. What only depends on what the program knows is judged once for states that look the same.
func (m *model) judge(w *world, atRest *rest) error {
	if err := atRest.check(*w); err != nil {
		return err
	}
	a := m.ask(w)
	if a.judged {
		return nil
	}
	a.judged = true
	if m.records {
		if err := m.judgeRecords(w); err != nil {
			return err
		}
	}
	return m.judgeGoingBack(w)
}

// trace returns the events that lead to a state.
func (m *model) trace(origins []origin, o origin) []string {
	var events []event
	for o.from >= 0 {
		events = append([]event{o.by}, events...)
		o = origins[o.from]
	}
	w := m.begin()
	var lines []string
	for _, e := range events {
		line := m.text(e)
		if e.kind == rounds {
			var all []string
			for _, a := range m.ask(&w).moves[:e.n] {
				all = append(all, m.moveText(&w, a))
			}
			line += "  # " + strings.Join(all, ", ")
		}
		lines = append(lines, line)
		w, _ = m.apply(w, e)
	}
	return lines
}

func (m *model) moveText(w *world, a move) string {
	name := m.places[a.place].name
	text := func(n uint8) string {
		if m.places[a.place].ring {
			n = w.places[a.place].commitOf(n)
		}
		return commitText(n)
	}
	word := ""
	if a.proposed {
		word = " is proposed:"
	}
	switch a.kind {
	case promotes:
		return fmt.Sprintf("%s enters %s%s", text(a.to), name, word)
	case goesBack:
		return fmt.Sprintf("%s goes back to %s%s", name, text(a.to), word)
	case measures:
		return name + " runs smoke"
	default:
		return name + " withdraws its proposal"
	}
}
