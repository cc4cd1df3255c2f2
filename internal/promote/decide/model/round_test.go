package model

// move is an action that changes the world.
type move struct {
	kind  moveKind
	place uint8
	// from and to are commits; in a ring, revisions.
	from, to uint8
	// proposed means that users have to merge it.
	proposed bool
}

type moveKind uint8

const (
	promotes moveKind = iota
	goesBack
	measures
	withdraws
)

// round carries out the first n actions of the program.
func (m *model) round(w world, n int) (world, error) {
	decided := w
	var failed error
	for _, a := range m.ask(&decided).moves[:n] {
		if err := m.carryOut(&decided, &w, a); err != nil && failed == nil {
			failed = err
		}
	}
	return m.after(w), failed
}

// carryOut carries out an action that was decided about an earlier state, and judges it by that state.
func (m *model) carryOut(decided, w *world, a move) error {
	i := int(a.place)
	p := &w.places[i]
	switch a.kind {
	case measures:
		p.measuring = p.head
		return nil
	case withdraws:
		p.proposal = 0
		return nil
	}
	commit, requested := a.to, decided.places[i].request == a.to
	if m.places[i].ring {
		commit = p.commitOf(a.to)
	}
	var failed error
	if a.kind == goesBack {
		failed = m.checkReturn(decided, i, commit, a.to)
	} else {
		failed = m.checkEntry(decided, i, commit, a.to, requested)
	}
	if a.proposed {
		p.proposal = a.to
		return failed
	}
	m.enterPlace(w, i, a.to)
	return failed
}

// enterPlace moves a place to a commit; a ring, to a revision.
func (m *model) enterPlace(w *world, i int, to uint8) {
	p := &w.places[i]
	former, commanded := m.commitAt(w, i), m.commanded(w, i)
	if p.request == to {
		p.request = 0
	}
	if m.places[i].ring {
		p.head = to
	} else {
		p.commit, p.proposal, p.closed = to, 0, 0
		if m.places[i].delivers || to == p.current() {
			return
		}
		m.publish(w, i, to)
	}
	m.entered(w, i, former, commanded)
}

// deliver publishes the manifests of an environment's commit.
func (m *model) deliver(w *world, i int) {
	former, commanded := m.commitAt(w, i), m.commanded(w, i)
	m.publish(w, i, w.places[i].commit)
	m.entered(w, i, former, commanded)
}

// entered notes that the clusters of a place follow another revision.
func (m *model) entered(w *world, i int, former uint8, commanded bool) {
	p := &w.places[i]
	m.log(w, i, entered, p.head)
	p.proposal, p.closed, p.measuring = 0, 0, 0
	p.truth.from, p.truth.to, p.truth.held = 0, 0, false
	if commit := m.commitAt(w, i); commit < former && !commanded {
		p.truth.from, p.truth.to = former, commit
	}
}
