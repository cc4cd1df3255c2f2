package decide

import (
	"fmt"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
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
	now       time.Time
	positions map[string]int // position of each commit on the line
	places    map[string]*place
}

// newRound assesses all environments first, because decisions depend on earlier environments.
func newRound(f Facts, now time.Time) *round {
	r := &round{Facts: f, now: now, positions: make(map[string]int, len(f.Line)), places: make(map[string]*place, len(f.Chain.stages))}
	for i, commit := range f.Line {
		r.positions[commit] = i
	}
	for _, s := range f.Chain.stages {
		r.places[s.name] = &place{stage: s, now: now, authors: f.Authors, check: -1, env: &Environment{Name: s.name, Unknown: "the environment cannot be found"}}
	}
	for i := range f.Environments {
		if p := r.places[f.Environments[i].Name]; p != nil {
			p.env = &f.Environments[i]
		}
	}
	rings := map[string][]*place{} // the stages of each ring
	for _, s := range f.Chain.stages {
		p := r.places[s.name]
		p.assess()
		p.read(r)
		p.before = make([]*place, len(s.rules.After))
		for i, name := range s.rules.After {
			p.before[i] = r.places[name]
		}
		if s.rules.ring {
			ring := fleet.RingOfStage(s.name)
			rings[ring] = append(rings[ring], p)
		}
	}
	for _, p := range r.places {
		p.closed = sync.OnceValues(func() (string, time.Time) { return p.rules.site.closed(now) })
		if p.rules.site != nil {
			p.beside = rings[fleet.RingOfStage(p.name)]
			p.delays = make([]*bool, len(f.Line))
		}
	}
	return r
}

// decide returns the decision for an environment: first record steps, then post statuses, then promote.
// A commit is replaced only in a later round, after its steps are recorded.
func (r *round) decide(p *place) Decision {
	d := Decision{Environment: p.name, Phase: p.phase, Commit: p.env.Commit, Reason: r.standing(p), Checks: p.checks}
	if p.phase == Unknown {
		return d
	}
	if p.phase == Failed {
		d.Failure, d.InRing = p.failure, p.inRing
	}
	if p.asksUser() {
		d.Asks = append(d.Asks, d.Reason)
	}
	unrecorded := p.unrecorded(r.now)
	d.Actions = append(unrecorded, p.statuses()...)
	p.measure(&d)
	if o := p.env.Request; o != nil && o.Commit == p.env.Commit {
		d.Actions = append(d.Actions, CompleteRequest{p.name, o.ID})
	}
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
	if len(unrecorded) == 0 {
		r.move(p, c, &d)
	}
	return d
}

// standing describes the state of an environment's commit.
func (r *round) standing(p *place) string {
	text := p.why
	if p.env.Commit != "" && p.phase != Unknown {
		text = fleet.ShortCommit(p.env.Commit) + " "
		if p.later && p.phase != Aborted && p.phase != Deployed {
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
	if !known || position >= p.floor || p.env.Request != nil {
		return ""
	}
	newest := fleet.ShortCommit(r.Line[p.floor])
	if n := p.floor - position; n > 1 {
		return fmt.Sprintf("%d newer commits up to %s are held back until a newer one or a request for one of them", n, newest)
	}
	return newest + " is held back until a newer commit or a request for it"
}

// move promotes the candidate, or explains why it waits.
func (r *round) move(p *place, c candidate, d *Decision) {
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
	if p.env.Pause == nil {
		r.goBack(p, c, d)
	}
}

// waitsForUser is why a commit waits for a ring that it enters by hand.
const waitsForUser = "it enters when a user requests it"

// obstacle returns the first reason why the candidate cannot be promoted, or why nothing can be promoted if there is
// no candidate. It returns "" if there is no obstacle.
func (r *round) obstacle(p *place, c candidate) (waits string, until time.Time) {
	switch {
	case p.problem != "":
		return "nothing can enter, since " + p.problem, time.Time{}
	case p.env.Pause != nil:
		return fmt.Sprintf("paused by %s since %s%s", p.env.Pause.By, clock(p.env.Pause.At, r.now), because(p.env.Pause.Why)), time.Time{}
	case c.commit == "":
		return "", time.Time{}
	case !p.free() && p.later:
		return "a later change of the environment is being rolled out", time.Time{}
	case !p.free():
		return fmt.Sprintf("%s is being rolled out", fleet.ShortCommit(p.env.Commit)), time.Time{}
	case !c.over():
		return c.why(), c.until
	case p.rules.manual && (p.env.Request == nil || p.env.Request.Commit != c.commit):
		return waitsForUser, time.Time{}
	case p.rules.byHand() && p.env.proposal(ProposalClosed, c.commit) != nil:
		return "its promotion was rejected" + at(p.env.proposal(ProposalClosed, c.commit).URL), time.Time{}
	}
	if waits, until = p.closed(); waits != "" {
		return waits, until
	}
	return p.rules.calendar.closed(r.now)
}

// free reports whether the environment's commit can be replaced.
func (p *place) free() bool {
	return p.phase.free() || p.env.Rings && p.phase == Deploying || p.phase == Proposed && p.env.Rollout.State == RolloutOffered
}

// goBack proposes a rollback after a failure, if the rules ask for it. An environment leaves an aborted commit whose manifests are not
// merged without asking: that changes no cluster, and the pull request with its manifests ends.
// It also withdraws proposals that would promote another commit.
func (r *round) goBack(p *place, c candidate, d *Decision) {
	back, cause := "", p.cause()
	later := r.failedLater(p)
	if p.phase == Failed && p.rules.OnFailure == v1alpha1.FailureRollback || later != "" {
		if later != "" {
			cause = later
		}
		position, known := r.positions[p.env.Commit]
		switch {
		case p.rules.ring && known && position < p.floor:
			d.say("goes back no further, because it went back already")
		case p.later:
			d.say("no rollback, because %s ran before that change", fleet.ShortCommit(p.env.Commit))
		case p.rules.ring && r.rolledOut(p.env.Commit):
			d.say("no rollback, because every ring has run %s", fleet.ShortCommit(p.env.Commit))
		default:
			if back = r.lastGood(p); back == "" {
				d.say("no earlier commit to roll back to")
			}
		}
	}
	if former := p.formerCommit(); back == "" && former != "" {
		d.do(ProposeRollback{p.name, p.env.Commit, former, cause, v1alpha1.ApprovalAutomatic})
		d.say("goes back to %s, which its clusters still follow", fleet.ShortCommit(former))
		return
	}
	open, closed := p.env.proposal(ProposalOpen, back), p.env.proposal(ProposalClosed, back)
	switch {
	case back != "" && open != nil:
		d.ask("going back to %s waits for people%s", fleet.ShortCommit(back), at(open.URL))
		return
	case back != "" && closed != nil:
		d.say("the rollback to %s was rejected%s", fleet.ShortCommit(back), at(closed.URL))
	case back != "" && p.siteClosed() != "":
		if later != "" {
			d.say("%s", later)
		}
		d.say("goes back to %s later: %s", fleet.ShortCommit(back), p.siteClosed())
		_, until := p.closed()
		d.wake(until, r.now)
	case back != "" && p.rules.ring:
		d.do(ProposeRollback{p.name, p.env.Commit, back, cause, v1alpha1.ApprovalAutomatic})
		d.say("goes back to %s, because %s", fleet.ShortCommit(back), cause)
		return
	case back != "":
		d.do(ProposeRollback{p.name, p.env.Commit, back, cause, v1alpha1.ApprovalPullRequest})
		d.say("proposes to go back to %s", fleet.ShortCommit(back))
		return
	}
	for _, o := range p.env.Proposals {
		if wanted := o.From == p.env.Commit && o.Commit == c.commit && c.over(); o.State == ProposalOpen && !wanted {
			d.do(Withdraw{p.name, o.Commit, "it is not what is to enter next"})
		}
	}
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
