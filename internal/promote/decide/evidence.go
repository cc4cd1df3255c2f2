package decide

import (
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// evidence is what is known of a commit in a place. It is derived from the carriers each time, and never stored.
type evidence struct {
	// first is when the gate, the checks and the approvals first held together, and proven when they did after the last failure; zero if never.
	first, proven time.Time
	// clock is for how long the commit has run since then, itself or in healthy descendants, without a reset. longest is the longest clock.
	clock, longest time.Duration
	// runs means that the clock runs now, and seen is when it last did.
	runs bool
	seen time.Time
	// failed means that its last carrier failed and has not recovered.
	failed bool
	// abandoned means that the ring went back from it, so that later rings do not get it.
	abandoned bool
	// held means that the gate of its last carrier was met.
	held bool
}

// good reports whether a commit can be promoted and returned to.
func (ev *evidence) good(soak time.Duration) bool {
	return ev != nil && !ev.proven.IsZero() && ev.longest >= soak
}

// run lets the clock run.
func (ev *evidence) run(from, to time.Time) {
	ev.runs, ev.seen = true, to
	if to.After(from) {
		ev.clock += to.Sub(from)
	}
	ev.longest = max(ev.longest, ev.clock)
}

func (ev *evidence) reset() { ev.clock, ev.runs = 0, false }

// proof is what is known of the verifications of a carrier: when they were all done, or one of them failed.
type proof struct {
	done, failed bool
	at           time.Time
}

// clockSkew is by how much the clocks of clusters and servers may differ.
const clockSkew = time.Minute

// walk is the state of reading the carriers of a place.
type walk struct {
	*place
	r *round
	// alive are the proven commits that the present carrier contains: their clocks run while it is healthy.
	alive []*evidence
	// index is the position of the carrier. last is the carrier before, and lastEvidence that of its commit.
	index        int
	last         *Carrier
	lastEvidence *evidence
}

// read computes the evidence of all commits of a place from its carriers.
func (p *place) read(r *round) {
	p.evidence = make(map[string]*evidence, len(p.env.Carriers)+1)
	p.carriers = p.env.Carriers
	if e := p.env; e.Unknown == "" && e.Commit != "" && e.Rollout.State == RolloutMerged {
		if n := len(p.carriers); n == 0 || p.carriers[n-1].Commit != e.Commit || p.carriers[n-1].Revision != e.Rollout.Commit {
			p.carriers = append(slices.Clip(p.carriers), Carrier{Commit: e.Commit, Revision: e.Rollout.Commit, Entered: r.now})
		}
		c := p.carriers[len(p.carriers)-1]
		c.Checks, c.Bypasses, c.Approvals, c.Reviews = e.Checks, e.Bypasses, e.Approvals, e.Reviews
		p.present = &c
	}
	p.floor = r.position(p.env.Commit)
	w := walk{place: p, r: r}
	for i := range p.carriers {
		p.floor = max(p.floor, r.position(p.carriers[i].Commit))
		w.carrier(i)
	}
	switch {
	case w.last == nil:
	case w.last.Commit != p.env.Commit:
		p.returned, p.later = r.older(p.env.Commit, w.last.Commit), false
	case p.present == nil:
		p.later = !w.lastEvidence.proven.IsZero()
	}
}

// Proven returns the carriers of a place in which the gate, the checks and the approvals held together, oldest first. The other places
// do not matter.
func Proven(f Facts, place Environment, now time.Time) []Carrier {
	f.Environments = []Environment{place}
	p := newRound(f, now).places[place.Name]
	if p == nil {
		return nil
	}
	all := make([]Carrier, len(p.proven))
	for i, at := range p.proven {
		all[i] = p.carriers[at]
	}
	return all
}

// carrier reads a carrier.
func (w *walk) carrier(i int) {
	c := &w.carriers[i]
	w.index = i
	present := w.present != nil && i == len(w.carriers)-1
	if present {
		c = w.present
	}
	ev := w.evidence[c.Commit]
	if ev == nil {
		ev = &evidence{}
		w.evidence[c.Commit] = ev
	}
	same := w.last != nil && w.r.id(w.last.Commit) == w.r.id(c.Commit)
	w.later = same && !w.lastEvidence.proven.IsZero()
	w.returned = w.last != nil && w.r.older(c.Commit, w.last.Commit) || w.returned && same
	w.staleBefore = time.Time{}
	if w.later {
		w.staleBefore = w.lastEvidence.proven
	}
	w.enter(c, ev)
	if w.rules.ring && w.last != nil && w.r.position(c.Commit) < w.r.position(w.last.Commit) {
		for commit, left := range w.evidence {
			left.abandoned = left.abandoned || w.r.position(commit) > w.r.position(c.Commit)
		}
	}
	ev.held, ev.failed, ev.abandoned = false, false, false
	proven := w.proof(c, present)
	for _, s := range c.Spans {
		if s.Standing == comply.StandingLost && s.To.Equal(c.Left) && s.Duration() < clockSkew {
			continue // the clusters follow the next one already, by clocks that are slow
		}
		if w.env.Rings && i+1 < len(w.carriers) && w.carriers[i+1].Commit == c.Commit && s.To.After(c.Left) {
			s.To = c.Left // the next one is judged from then on
		}
		if s.Trouble {
			w.troubled()
		}
		w.span(ev, s.Standing, s.From, s.To, proven)
	}
	if present {
		w.standing = w.standingNow(c, ev.held)
		w.span(ev, w.standing, w.now, w.now, proven)
	}
	w.last, w.lastEvidence = c, ev
}

// enter ends the clocks of commits that a carrier does not contain. A carrier of an environment with rings is judged by itself, because the
// rings continue to roll it out when the next one was merged.
func (w *walk) enter(c *Carrier, ev *evidence) {
	w.alive = slices.DeleteFunc(w.alive, func(other *evidence) bool { return w.env.Rings && other != ev })
	for _, other := range w.alive {
		other.runs = false
	}
	if w.last == nil || w.env.Rings || !w.r.older(c.Commit, w.last.Commit) && w.r.position(c.Commit) >= 0 {
		return
	}
	for _, other := range w.alive {
		other.reset()
	}
	w.alive = w.alive[:0]
	if !ev.proven.IsZero() {
		w.alive = append(w.alive, ev)
	}
}

// span reads what the gate said for a time.
func (w *walk) span(ev *evidence, standing comply.Standing, from, to time.Time, checks proof) {
	if standing == comply.StandingNoClusters && w.rules.Gate.AllowNone {
		standing = comply.StandingHolds
	}
	if from.After(w.now) {
		return
	}
	if to.After(w.now) {
		to = w.now
	}
	switch {
	case standing == comply.StandingHolds && checks.failed && !checks.at.After(to):
		ev.held = true
		w.fail(ev)
	case standing == comply.StandingHolds:
		w.hold(ev, from, to, checks)
	case standing == comply.StandingFailed:
		w.fail(ev)
	case standing == comply.StandingLost, standing == comply.StandingNoClusters, standing == comply.StandingWaiting && ev.held:
		w.reset(ev)
	default: // the clocks stand still
		for _, other := range w.alive {
			other.runs = false
		}
	}
}

// troubled sets back the clocks of the commits before, which the clusters that fail still run.
func (w *walk) troubled() {
	for _, other := range w.alive {
		other.reset()
	}
}

// hold reads a time in which the gate held.
func (w *walk) hold(ev *evidence, from, to time.Time, checks proof) {
	ev.held = true
	for _, other := range w.alive {
		other.run(from, to)
	}
	if checks.done && !checks.at.After(to) && !slices.Contains(w.proven, w.index) {
		w.proven = append(w.proven, w.index)
	}
	if !checks.done || checks.at.After(to) || slices.Contains(w.alive, ev) {
		if checks.done {
			ev.failed = false
		}
		return
	}
	if checks.at.After(from) {
		from = checks.at
	}
	if w.later && w.lastEvidence != ev && ev.first.IsZero() && !ev.failed { // another revision of the same commit
		ev.clock = w.lastEvidence.clock
		if slices.Contains(w.alive, w.lastEvidence) {
			ev.clock -= to.Sub(from) // which both ran
		}
	}
	if ev.proven.IsZero() {
		ev.proven = from
	}
	if ev.first.IsZero() {
		ev.first = from
	}
	ev.failed = false
	ev.run(from, to)
	w.alive = append(w.alive, ev)
}

// fail ends the clock of a commit, and sets back those of the commits that it contains.
func (w *walk) fail(ev *evidence) {
	for _, other := range w.alive {
		other.reset()
	}
	w.alive = slices.DeleteFunc(w.alive, func(other *evidence) bool { return other == ev })
	*ev = evidence{first: ev.first, seen: ev.seen, held: ev.held, failed: true}
}

// reset sets back all clocks: the clusters are known to run something else, or not to be healthy.
func (w *walk) reset(ev *evidence) {
	for _, other := range w.alive {
		other.reset()
	}
	ev.clock, ev.longest, ev.runs = 0, 0, false
}

// standingNow returns what the gate says now. The spans end now, so that a change at this very moment is only in the verdict.
func (p *place) standingNow(c *Carrier, held bool) comply.Standing {
	v := &p.env.Verdict
	last := comply.StandingWaiting
	if n := len(c.Spans); n > 0 {
		last = c.Spans[n-1].Standing
	}
	silent := v.Counts.Offline > 0 && v.Counts.Failed == 0
	switch {
	case v.Commit != p.env.Rollout.Commit:
		return last
	case v.Result == comply.Passed:
		return comply.StandingHolds
	case v.Result == comply.NoClusters:
		return comply.StandingNoClusters
	case held && silent && v.Counts.Reached+v.Counts.Offline >= v.Counts.Required:
		return comply.StandingUnknown
	case v.Result == comply.Failed && !(held && silent):
		return comply.StandingFailed
	case v.Result == comply.TimedOut && !held:
		return comply.StandingFailed
	default:
		return last
	}
}

// position returns the position of a commit on the line; -1 if it is not on it.
func (r *round) position(commit string) int {
	if at, known := r.positions[commit]; known {
		return at
	}
	return -1
}

// id returns the source commit whose manifests a commit of the line has.
func (r *round) id(commit string) string {
	if source := r.Sources[commit]; source != "" {
		return source
	}
	return commit
}

// older reports whether a commit is known to be older than another one: by their source commits or, if the branch of these does not have them,
// by the line.
func (r *round) older(commit, than string) bool {
	at, known := r.sourcePositions[r.id(commit)]
	other, both := r.sourcePositions[r.id(than)]
	if !known || !both {
		at, other = r.position(commit), r.position(than)
	}
	return at >= 0 && other >= 0 && at < other
}
