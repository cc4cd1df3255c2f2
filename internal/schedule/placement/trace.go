package placement

import (
	"fmt"
	"slices"
)

// trace records how policies choose for some targets. Nil records nothing.
// A decision is repeated with a trace if somebody asks for its reasons: keeping those of a million pairs would cost more.
type trace struct {
	targets  map[int32]bool
	outcomes map[traced]*outcome
	evicts   map[evicted]string
}

type traced struct{ policy, target int32 }

type evicted struct{ policy, target, clusterType int32 }

// outcome is what a policy chose for a target, and why.
type outcome struct {
	wanted  int
	reasons map[int32]choiceReason // by index in candidates.clusterTypes
}

// choiceReason is why an eligible cluster type was chosen or not. The step is empty if it was.
type choiceReason struct {
	step        Step
	text        string
	score, rank int
}

func newTrace(targets ...int32) *trace {
	t := &trace{targets: map[int32]bool{}, outcomes: map[traced]*outcome{}, evicts: map[evicted]string{}}
	for _, target := range targets {
		t.targets[target] = true
	}
	return t
}

// note records one choice.
type note struct {
	trace *trace
	p     *picking
	// now are the candidates that are blocked for the next pick, over those that were blocked when a worse one was picked,
	// last those that were blocked for the last pick.
	now, over, last map[int32]choiceReason
	ranked          []candidate
}

func (t *trace) begin(p *picking) *note {
	if t == nil || !t.targets[p.target] {
		return nil
	}
	n := &note{trace: t, p: p, over: map[int32]choiceReason{}, ranked: slices.Clone(p.candidates)}
	slices.SortFunc(n.ranked, func(a, b candidate) int {
		switch {
		case p.before(a, b, 0, 0):
			return -1
		case p.before(b, a, 0, 0):
			return 1
		}
		return 0
	})
	return n
}

// blocked returns the function that records what blocks candidates.
func (n *note) blocked() func(c candidate, step Step, why string) {
	if n == nil {
		return nil
	}
	n.now = map[int32]choiceReason{}
	return func(c candidate, step Step, why string) { n.now[c.i] = choiceReason{step: step, text: why} }
}

// choose records which of the blocked candidates would have been picked before this one.
func (n *note) choose(c candidate) {
	if n == nil {
		return
	}
	for _, other := range n.p.candidates {
		reason, blocked := n.now[other.i]
		if blocked && n.p.before(other, c, 0, 0) {
			n.over[other.i] = reason
		}
	}
	n.last = n.now
}

// end records the reasons of all candidates.
func (n *note) end() {
	if n == nil {
		return
	}
	o := &outcome{wanted: n.p.wanted(), reasons: map[int32]choiceReason{}}
	if n.p.missing() > 0 {
		n.p.next(n.p.fits, n.blocked())
		for i, reason := range n.now {
			n.over[i] = reason
		}
	}
	worst := -1
	for rank, c := range n.ranked {
		if slices.Contains(n.p.picked, c.i) {
			worst = rank
		}
	}
	for rank, c := range n.ranked {
		reason, blocked := n.over[c.i]
		switch {
		case slices.Contains(n.p.picked, c.i):
			reason = choiceReason{text: n.chosenText(c, rank)}
		case !blocked:
			reason = n.outranked(c, rank, worst)
		}
		reason.score, reason.rank = c.score, rank+1
		o.reasons[c.i] = reason
	}
	n.trace.outcomes[traced{n.p.r.number, n.p.target}] = o
}

func (n *note) scores() bool { return len(n.p.r.policy.Preferences)+len(n.p.r.policy.Extenders) > 0 }

func (n *note) name(c candidate) string {
	return n.p.r.s.d.clusterTypes[n.p.r.c.clusterTypes[c.i]].Name
}

func (n *note) chosenText(c candidate, rank int) string {
	if n.p.r.policy.Max == 0 {
		return ""
	}
	place := fmt.Sprintf("%s of %d that are wanted", ordinal(rank+1), n.p.wanted())
	if rank >= n.p.wanted() {
		place = fmt.Sprintf("%s, because the rules do not allow a better one", ordinal(rank+1))
	}
	var points, stays string
	if n.scores() {
		points = fmt.Sprintf("%d points", c.score)
	}
	if c.published {
		stays = "it is published there and stays"
	}
	return sentence(place, points, stays)
}

// outranked explains why a cluster type is not among those that are wanted. worst is the rank of the last that is.
func (n *note) outranked(c candidate, rank, worst int) choiceReason {
	if worst < 0 { // none is wanted
		return choiceReason{step: StepScore, text: "it stays where it is published, which cannot be read"}
	}
	text := fmt.Sprintf("%s of %d that are wanted", ordinal(rank+1), n.p.wanted())
	rival := n.ranked[worst]
	switch {
	case rank < worst:
		return choiceReason{step: StepSpread, text: "others keep the spread better, such as " + n.name(rival)}
	case rival.published && !c.published && rival.score+n.p.r.policy.MoveThreshold > c.score || (n.p.r.policy.MoveThreshold == 0 || n.p.unsure) && rival.published:
		detail := n.name(rival) + " is published and stays"
		if n.scores() {
			detail = fmt.Sprintf("%d points, %s with %d is published and stays", c.score, n.name(rival), rival.score)
		}
		text += ": " + detail
	case c.soft && !rival.soft:
		text += ": it has a taint PreferNoSchedule, " + n.name(rival) + " has none"
	case !n.scores() || c.score == rival.score:
		if blocked, ok := n.last[c.i]; ok {
			return blocked
		}
		text += ": it is as good as " + n.name(rival) + ", and the hash of the names decides"
	default:
		text += fmt.Sprintf(": %d points, %s has %d", c.score, n.name(rival), rival.score)
	}
	return choiceReason{step: StepScore, text: text}
}

// record records the reasons of a policy that does not choose among free places.
func (t *trace) record(p *picking, reasons map[int32]choiceReason) {
	if t != nil && t.targets[p.target] {
		t.outcomes[traced{p.r.number, p.target}] = &outcome{reasons: reasons}
	}
}

// evicted records that a published assignment had to make room.
func (t *trace) evicted(policy, target, clusterType int32, why string) {
	if t != nil && t.targets[target] {
		t.evicts[evicted{policy, target, clusterType}] = why
	}
}

// ordinal formats 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
