package decide

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Decide returns a decision for every environment of the chain, in chain order: what to do next, and why commits wait.
// It is a pure function. After its actions are carried out, a call with the new facts continues from there.
// If nothing can be done but wait, the decisions have no actions.
func Decide(f Facts, now time.Time) []Decision {
	if f.Chain == nil {
		return nil
	}
	r := newRound(f, now)
	decisions := make([]Decision, len(f.Chain.stages))
	for i, s := range f.Chain.stages {
		decisions[i] = r.decide(r.places[s.name])
	}
	return decisions
}

// round holds the state of one call of Decide.
type round struct {
	Facts
	now             time.Time
	positions       map[string]int // position of each commit on the line
	sourcePositions map[string]int
	places          map[string]*place
	all             []*place // as in the chain
}

// newRound assesses all environments first, because decisions depend on earlier environments.
func newRound(f Facts, now time.Time) *round {
	r := &round{Facts: f, now: now, positions: indexOf(f.Line), sourcePositions: indexOf(f.SourceLine), places: make(map[string]*place, len(f.Chain.stages))}
	for _, s := range f.Chain.stages {
		p := &place{stage: s, now: now, authors: f.Authors, check: -1, env: &Environment{Name: s.name, Unknown: "the environment cannot be found"}}
		r.places[s.name] = p
		r.all = append(r.all, p)
	}
	for i := range f.Environments {
		if p := r.places[f.Environments[i].Name]; p != nil {
			p.env = &f.Environments[i]
		}
	}
	rings := map[string][]*place{} // the stages of each ring
	for _, p := range r.all {
		p.before = make([]*place, len(p.rules.After))
		for i, name := range p.rules.After {
			p.before[i] = r.places[name]
		}
		r.setSoak(p)
		if p.rules.ring {
			ring := fleet.RingOfStage(p.name)
			rings[ring] = append(rings[ring], p)
		}
	}
	for _, p := range r.all {
		p.closed = sync.OnceValues(func() (string, time.Time) { return p.rules.site.closed(now) })
		if p.rules.site != nil {
			p.beside = rings[fleet.RingOfStage(p.name)]
			p.delays = make([]*bool, len(f.Line))
		}
		p.read(r)
		p.assess(r)
	}
	r.setBars()
	return r
}

func indexOf(line []string) map[string]int {
	positions := make(map[string]int, len(line))
	for i, commit := range line {
		positions[commit] = i
	}
	return positions
}

// setSoak sets how long a commit runs in a place until it is good: for as long as the places after it demand, or the ring itself.
func (r *round) setSoak(p *place) {
	if p.rules.ring {
		p.soak = p.rules.Soak
		return
	}
	for _, before := range p.before {
		if before != nil {
			before.soak = max(before.soak, p.rules.Soak)
		}
	}
}

// setBars collects the rollbacks and aborts that concern each place: its own, and those of all before it.
func (r *round) setBars() {
	for _, p := range r.all {
		own := func(q *place) {
			for i := range q.env.Aborts {
				if a := &q.env.Aborts[i]; !slices.Contains(p.gaveUp, a) {
					p.gaveUp = append(p.gaveUp, a)
				}
			}
			for i := range q.env.Rollbacks {
				if b := &q.env.Rollbacks[i]; !slices.Contains(p.bars, b) {
					p.bars = append(p.bars, b)
				}
			}
		}
		own(p)
		for _, q := range p.before {
			if q == nil {
				continue
			}
			own(q)
			if p.rules.ring {
				continue // all earlier rings are before it
			}
			for _, a := range q.gaveUp {
				if !slices.Contains(p.gaveUp, a) {
					p.gaveUp = append(p.gaveUp, a)
				}
			}
			for _, b := range q.bars {
				if !slices.Contains(p.bars, b) {
					p.bars = append(p.bars, b)
				}
			}
		}
	}
}

// decide returns the decision for an environment: first post statuses and measure, then promote or go back.
func (r *round) decide(p *place) Decision {
	d := Decision{Environment: p.name, State: p.state, Commit: p.env.Commit, Reason: r.describe(p), Checks: p.checks}
	if p.state == Unknown {
		return d
	}
	if p.state == Failed {
		d.Failure, d.Cause, d.InRing = p.failure, p.cause(), p.inRing
	}
	d.Targets, d.Ran, d.Request = r.targets(p), r.ran(p), p.request()
	if ev := p.evidence[p.env.Commit]; ev != nil && p.state.Deployed() {
		d.Since = ev.proven
		if ev.runs && ev.longest < p.soak {
			d.wake(r.now.Add(p.soak-ev.clock), r.now)
		}
	}
	if p.asksUser() {
		d.Asks = append(d.Asks, d.Reason)
	}
	d.Actions = p.statuses()
	p.measure(&d)
	if p.env.Verdict.Commit == p.env.Rollout.Commit {
		d.wake(p.env.Verdict.Next, r.now)
	}
	if back := r.heldBack(p); back != "" {
		d.say("%s", back)
	}
	c := r.candidate(p)
	d.Candidate = c.commit
	if position, known := r.positions[c.commit]; known && p.rules.site != nil {
		d.wake(r.limit(p, position), r.now)
	}
	d.Delayed = r.waitsFor(p, c)
	d.wake(c.until, r.now)
	r.move(p, c, &d)
	return d
}

// ran returns the carriers that proved themselves, oldest first.
func (r *round) ran(p *place) []Carrier {
	var all []Carrier
	for _, c := range p.carriers {
		if ev := p.evidence[c.Commit]; ev != nil && !ev.proven.IsZero() && (!p.env.Rings && c.Left.IsZero() || p.env.Rings) {
			all = append(all, Carrier{Commit: c.Commit, Revision: c.Revision, Entered: ev.proven})
		}
	}
	return all
}

// describe describes the state of an environment's commit.
func (r *round) describe(p *place) string {
	text := p.why
	if p.env.Commit != "" && p.state != Unknown {
		text = fleet.ShortCommit(p.env.Commit) + " "
		if p.later && p.state != TakenBack && !p.state.Deployed() {
			text += "is deployed; a later change of the environment "
		}
		text += p.why
		if _, known := r.positions[p.env.Commit]; !known && len(r.Line) > 0 {
			text += "; it is no longer on the branch, which was pushed over"
		}
	}
	return text
}

// heldBack names the commits that do not return by themselves after a rollback or a request for an older commit, or "".
func (r *round) heldBack(p *place) string {
	position, known := r.positions[p.env.Commit]
	if !known || position >= p.floor || p.request() != nil {
		return ""
	}
	newest := fleet.ShortCommit(r.Line[p.floor])
	if n := p.floor - position; n > 1 {
		return fmt.Sprintf("%d newer commits up to %s are held back until a newer one or a request for one of them", n, newest)
	}
	return newest + " is held back until a newer commit or a request for it"
}

// move goes back, promotes the candidate, or explains why it waits. A fix that can enter is better than going back, unless a user said so.
func (r *round) move(p *place, c candidate, d *Decision) {
	commanded := r.rolledBack(p, p.env.Commit) != nil
	if commanded && r.goBack(p, d) {
		r.withdraw(p, candidate{}, d)
		return
	}
	waits, until := r.obstacle(p, c)
	d.wake(until, r.now)
	open := p.env.proposal(ProposalOpen, c.commit)
	switch {
	case c.commit == "":
		if waits != "" {
			d.say("%s", waits)
		}
	case waits == waitsForUser:
		d.ask("%s waits: %s", fleet.ShortCommit(c.commit), waits)
	case waits != "":
		d.say("%s waits: %s", fleet.ShortCommit(c.commit), waits)
	case p.rules.byHand() && open != nil:
		d.ask("%s waits for its promotion to be merged%s", fleet.ShortCommit(c.commit), at(open.URL))
		return
	default:
		d.do(Promote{p.name, p.env.Commit, c.commit, p.rules.Approval})
		if p.rules.byHand() {
			d.say("%s is proposed in a pull request", fleet.ShortCommit(c.commit))
		} else {
			d.say("%s enters", fleet.ShortCommit(c.commit))
		}
		return
	}
	if !commanded && r.goBack(p, d) {
		return
	}
	r.withdraw(p, c, d)
}

// withdraw closes proposals that would promote another commit than the one that is to be next.
func (r *round) withdraw(p *place, c candidate, d *Decision) {
	if p.env.Pause != nil {
		return
	}
	for _, o := range p.env.Proposals {
		wanted := o.From == p.env.Commit && o.Commit == c.commit && c.over()
		for _, a := range d.Actions {
			b, back := a.(ProposeRollback)
			wanted = wanted || back && b.To == o.Commit
		}
		if o.State == ProposalOpen && !wanted && !r.keepsRollback(p, o) {
			d.do(Withdraw{p.name, o.Commit, "it is not what is to enter next"})
		}
	}
}

// keepsRollback reports whether a proposal is the rollback that the place waits for.
func (r *round) keepsRollback(p *place, o Proposal) bool {
	b := r.rolledBack(p, p.env.Commit)
	if o.From != p.env.Commit || r.returns(p) == "" {
		return false
	}
	if b != nil && b.To != "" {
		return b.To == o.Commit
	}
	return r.target(p) == o.Commit
}

// waitsForUser is why a commit waits for a ring that it enters by hand.
const waitsForUser = "it enters when a user requests it"

// obstacle returns the first reason why the candidate cannot be promoted, or why nothing can be promoted if there is
// no candidate. It returns "" if there is no obstacle.
func (r *round) obstacle(p *place, c candidate) (waits string, until time.Time) {
	hurries, _ := r.hurries(p, c.commit)
	requested := p.request()
	switch {
	case p.problem != "":
		return "nothing can enter, since " + p.problem, time.Time{}
	case p.env.Pause != nil && !hurries:
		return fmt.Sprintf("paused by %s since %s%s", p.env.Pause.By, clock(p.env.Pause.At, r.now), because(p.env.Pause.Why)), time.Time{}
	case c.commit == "":
		return "", time.Time{}
	case !p.free() && !hurries && p.later:
		return "a later change of the environment is being rolled out", time.Time{}
	case !p.free() && !hurries:
		return fmt.Sprintf("%s is being rolled out", fleet.ShortCommit(p.env.Commit)), time.Time{}
	case !c.over():
		return c.why(), c.until
	case p.rules.manual && (requested == nil || requested.Commit != c.commit):
		return waitsForUser, time.Time{}
	case p.rules.byHand() && p.env.proposal(ProposalClosed, c.commit) != nil:
		return "its promotion was rejected" + at(p.env.proposal(ProposalClosed, c.commit).URL), time.Time{}
	}
	if waits, until = p.closed(); waits != "" {
		return waits, until
	}
	if hurries {
		return "", time.Time{}
	}
	return p.rules.calendar.closed(r.now)
}

// proposal returns the proposal in a state from the environment's commit to another commit, or nil.
func (e *Environment) proposal(state ProposalState, commit string) *Proposal {
	for i := range e.Proposals {
		if o := &e.Proposals[i]; o.State == state && o.From == e.Commit && o.Commit == commit {
			return o
		}
	}
	return nil
}

// wake records a time at which the decision may change.
func (d *Decision) wake(at, now time.Time) {
	if at.After(now) && (d.Next.IsZero() || at.Before(d.Next)) {
		d.Next = at
	}
}

func (d *Decision) do(a Action) { d.Actions = append(d.Actions, a) }

// ask says what a user has to do.
func (d *Decision) ask(format string, args ...any) {
	d.say(format, args...)
	d.Asks = append(d.Asks, fmt.Sprintf(format, args...))
}

func (d *Decision) say(format string, args ...any) { d.Reason += "; " + fmt.Sprintf(format, args...) }
