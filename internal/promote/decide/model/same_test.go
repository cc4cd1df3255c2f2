package model

import (
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// judgeRecords checks that what is recorded for people changes no decision: whether the statuses of commits were posted, lost or come from
// elsewhere.
func (m *model) judgeRecords(w *world) error {
	v := w.visible()
	first := m.decisions(&v, circumstances{})
	posted := statusesOf(first)
	again := m.decisions(&v, circumstances{statuses: posted, lost: true})
	if !slices.Equal(m.translate(first), m.translate(again)) {
		return fmt.Errorf("decides something else when statuses are recorded: %v, and without %v", actionsOf(again), actionsOf(first))
	}
	for i := range first {
		if first[i].State != again[i].State || first[i].Reason != again[i].Reason {
			return fmt.Errorf("says %q when statuses are recorded, and without %q", again[i].Reason, first[i].Reason)
		}
	}
	for range maxPlaces {
		more := statusesOf(m.decisions(&v, circumstances{statuses: posted}))
		if len(more) == 0 {
			return nil
		}
		posted = append(posted, more...)
	}
	return fmt.Errorf("posts the same statuses again and again: %v", posted[len(posted)-1])
}

func statusesOf(decisions []decide.Decision) []decide.SetStatus {
	posted := []decide.SetStatus{}
	for _, a := range actionsOf(decisions) {
		if s, ok := a.(decide.SetStatus); ok {
			posted = append(posted, s)
		}
	}
	return posted
}

// judgeGoingBack checks that nothing that stops promotions stops a place from going back. It may go back instead of taking a fix, which waits
// then.
func (m *model) judgeGoingBack(w *world) error {
	v := w.visible()
	var stopped []move
	for k, a := range m.ask(w).moves {
		if !m.isBack(w, a) {
			continue
		}
		if stopped == nil {
			stopped = m.translate(m.decisions(&v, circumstances{stopped: true}))
		}
		if !slices.Contains(stopped, a) {
			return fmt.Errorf("a pause or a freeze keeps a place from going back: %s", m.moveText(w, m.ask(w).moves[k]))
		}
	}
	return nil
}

// isBack reports whether an action takes a place to an older commit, without a user's request for that one.
func (m *model) isBack(w *world, a move) bool {
	i := int(a.place)
	p := &w.places[i]
	commit := a.to
	if m.places[i].ring {
		commit = p.commitOf(a.to)
	}
	return a.kind == goesBack || a.kind == promotes && commit < m.commitAt(w, i) && p.request != a.to
}

func actionsOf(decisions []decide.Decision) []decide.Action {
	var all []decide.Action
	for _, d := range decisions {
		all = append(all, d.Actions...)
	}
	return all
}
