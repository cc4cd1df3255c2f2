package decide

import (
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Decide says what is to be done next in every environment of the chain, in its order, and why everything that waits waits.
// It depends on nothing but its arguments. When its actions are carried out and it is asked again, it goes on from there;
// when nothing is left to do but to wait, it returns no actions.
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

// round is the work on one set of facts.
type round struct {
	Facts
	now       time.Time
	positions map[string]int // of the commits of the line
	places    map[string]*place
}

// newRound assesses all environments, so that each can be seen from those after it.
func newRound(f Facts, now time.Time) *round {
	r := &round{Facts: f, now: now, positions: make(map[string]int, len(f.Line)), places: make(map[string]*place, len(f.Chain.stages))}
	for i, commit := range f.Line {
		r.positions[commit] = i
	}
	for _, s := range f.Chain.stages {
		r.places[s.name] = &place{stage: s, env: &Environment{Name: s.name, Unknown: "the environment cannot be found"}}
	}
	for i := range f.Environments {
		if p := r.places[f.Environments[i].Name]; p != nil {
			p.env = &f.Environments[i]
		}
	}
	for _, p := range r.places {
		p.assess()
		p.read(r)
	}
	return r
}

// decide says what is to be done in an environment: put on record what happened, show it, and then move on.
// What is left is on record before anything takes its place, and that is a fact of the next round.
func (r *round) decide(p *place) Decision {
	d := Decision{Environment: p.name, Phase: p.phase, Commit: p.env.Commit, Reason: r.standing(p)}
	if p.phase == Unknown {
		return d
	}
	unrecorded := p.unrecorded(r.now)
	d.Actions = append(unrecorded, p.statuses()...)
	if p.check != nil && p.env.result(p.check.Name).State != CheckRunning {
		d.Actions = append(d.Actions, RunCheck{p.name, p.env.Commit, p.env.Rollout.Commit, *p.check})
	}
	if o := p.env.Order; o != nil && o.Commit == p.env.Commit {
		d.Actions = append(d.Actions, FulfillOrder{p.name, o.ID})
	}
	if p.env.Verdict.Commit == p.env.Rollout.Commit {
		d.wake(p.env.Verdict.Next, r.now)
	}
	c := r.candidate(p)
	d.Candidate = c.commit
	d.wake(c.until, r.now)
	if len(unrecorded) == 0 {
		r.move(p, c, &d)
	}
	return d
}

// standing says how the commit of an environment stands.
func (r *round) standing(p *place) string {
	text := p.why
	if p.env.Commit != "" && p.phase != Unknown {
		text = fleet.ShortCommit(p.env.Commit) + " " + p.why
		if _, known := r.positions[p.env.Commit]; !known && len(r.Line) > 0 {
			text += "; it is no longer on the branch, which was pushed over"
		}
	}
	return text
}

// move lets the candidate enter, or says what it waits for.
func (r *round) move(p *place, c candidate, d *Decision) {
	waits, until := r.obstacle(p, c)
	d.wake(until, r.now)
	open := p.env.proposal(ProposalOpen, c.commit)
	switch {
	case c.commit == "":
		if waits != "" {
			d.say("%s", waits)
		}
	case waits != "":
		d.say("%s waits: %s", fleet.ShortCommit(c.commit), waits)
	case p.rules.byHand() && open != nil:
		d.say("%s waits for its promotion to be merged%s", fleet.ShortCommit(c.commit), at(open.URL))
		return
	default:
		d.do(Promote{p.name, p.env.Commit, c.commit, p.rules.Approval})
		if p.rules.byHand() {
			d.say("%s is proposed to people", fleet.ShortCommit(c.commit))
		} else {
			d.say("%s enters", fleet.ShortCommit(c.commit))
		}
		return
	}
	if p.env.Pause == nil {
		r.goBack(p, c, d)
	}
}

// obstacle says what keeps the candidate out, or anything if there is none, the first thing first; "" when it may enter.
func (r *round) obstacle(p *place, c candidate) (waits string, until time.Time) {
	switch {
	case p.problem != "":
		return "nothing can enter, since " + p.problem, time.Time{}
	case p.env.Pause != nil:
		return fmt.Sprintf("paused by %s since %s%s", p.env.Pause.By, clock(p.env.Pause.At, r.now), because(p.env.Pause.Why)), time.Time{}
	case c.commit == "":
		return "", time.Time{}
	case !p.free():
		return fmt.Sprintf("%s is being rolled out", fleet.ShortCommit(p.env.Commit)), time.Time{}
	case !c.over():
		return c.why(), c.until
	case p.rules.byHand() && p.env.proposal(ProposalClosed, c.commit) != nil:
		return "its promotion was turned down" + at(p.env.proposal(ProposalClosed, c.commit).URL), time.Time{}
	default:
		return p.rules.calendar.closed(r.now)
	}
}

// free says whether another commit may take the place of the one that is there.
func (p *place) free() bool {
	return p.phase.free() || p.phase == Proposed && p.env.Rollout.State == RolloutOffered
}

// goBack proposes what ran well before, after a failure and where that is the rule.
// It is also what closes a proposal that would let something else in.
func (r *round) goBack(p *place, c candidate, d *Decision) {
	back := ""
	if p.phase == Failed && p.rules.OnFailure == v1alpha1.FailureRollback {
		if back = p.env.wayBack(); back == "" {
			d.say("there is nothing to go back to")
		}
	}
	open, closed := p.env.proposal(ProposalOpen, back), p.env.proposal(ProposalClosed, back)
	switch {
	case back != "" && open != nil:
		d.say("going back to %s waits for people%s", fleet.ShortCommit(back), at(open.URL))
		return
	case back != "" && closed != nil:
		d.say("going back to %s was turned down%s", fleet.ShortCommit(back), at(closed.URL))
	case back != "":
		d.do(ProposeRollback{p.name, p.env.Commit, back, p.cause()})
		d.say("proposes to go back to %s", fleet.ShortCommit(back))
		return
	}
	for _, o := range p.env.Proposals {
		if wanted := o.From == p.env.Commit && o.Commit == c.commit && c.over(); o.State == ProposalOpen && !wanted {
			d.do(Withdraw{p.name, o.Commit, "it is not what is to enter next"})
		}
	}
}

// proposal finds a proposal in a state that leads from what the environment names to a commit; nil when there is none.
func (e *Environment) proposal(state ProposalState, commit string) *Proposal {
	for i := range e.Proposals {
		if o := &e.Proposals[i]; o.State == state && o.From == e.Commit && o.Commit == commit {
			return o
		}
	}
	return nil
}

// wake notes a time at which there may be something else to decide.
func (d *Decision) wake(at, now time.Time) {
	if at.After(now) && (d.Next.IsZero() || at.Before(d.Next)) {
		d.Next = at
	}
}

func (d *Decision) do(a Action) { d.Actions = append(d.Actions, a) }

func (d *Decision) say(format string, args ...any) { d.Reason += "; " + fmt.Sprintf(format, args...) }
