package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// RollbackTarget is a commit to go back to, or why it is not one.
type RollbackTarget struct {
	// Commit is one of the line, and State its state: good, or why it is not one.
	Commit string `json:"commit"`
	State  State  `json:"state"`
	// Good means that it ran well for long enough, and was taken back nowhere. Why explains why it is not, or how long it ran.
	Good bool   `json:"good"`
	Why  string `json:"why"`
	// Ran is when it was last known to run well; zero if it never did.
	Ran time.Time `json:"ran,omitzero"`
}

// targets returns the earlier commits of a place, newest first.
func (r *round) targets(p *place) []RollbackTarget {
	var all []RollbackTarget
	seen := map[string]bool{r.id(p.env.Commit): !p.later}
	for _, c := range slices.Backward(p.carriers) {
		id := r.id(c.Commit)
		here := id == r.id(p.env.Commit)
		if seen[id] || c.Commit == p.env.Commit || !here && r.older(p.env.Commit, c.Commit) {
			continue
		}
		seen[id] = true
		t := RollbackTarget{Commit: c.Commit}
		ev := p.evidence[c.Commit]
		t.State, t.Why = r.formerState(p, c.Commit, ev)
		t.Ran = ev.seen
		if t.Good = t.State == Good; t.Good {
			t.Why = "ran until " + clock(ev.seen, r.now)
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b RollbackTarget) int {
		switch {
		case r.older(b.Commit, a.Commit):
			return -1
		case r.older(a.Commit, b.Commit):
			return 1
		}
		return 0
	})
	return all
}

// formerState returns the state of a commit that a place had, and why the place does not go back to it unless it is good.
func (r *round) formerState(p *place, commit string, ev *evidence) (state State, why string) {
	given := slices.IndexFunc(p.gaveUp, func(a *Abort) bool { return r.id(a.Commit) == r.id(commit) })
	switch bar := r.barred(p, commit); {
	case given >= 0:
		return TakenBack, p.gaveUp[given].String()
	case bar != "":
		return TakenBack, bar
	case ev.failed, ev.proven.IsZero() && !ev.first.IsZero():
		return Failed, "it failed in " + p.name
	case ev.proven.IsZero():
		return Superseded, "it was replaced in " + p.name + " before it ran everywhere and passed its verifications"
	case !ev.good(p.soak):
		return Soaking, fmt.Sprintf("it ran in %s for %s without failure, not for %s", p.name, span(ev.longest), span(p.soak))
	}
	return Good, ""
}

// target returns the newest good commit that a place can go back to, or "". All rings that go back from one commit go to the same source
// commit.
func (r *round) target(p *place) string {
	others := []*place{p}
	if p.rules.ring {
		b := r.rolledBack(p, p.env.Commit)
		everywhere := b != nil && b.All
		others = slices.DeleteFunc(slices.Clone(r.all), func(q *place) bool {
			return q.rules.site != nil || q.env.Commit == "" || !everywhere && (r.id(q.env.Commit) != r.id(p.env.Commit) || r.returns(q) == "")
		})
	}
	for _, t := range r.targets(p) {
		bad := func(q *place) bool { return q != p && r.id(q.env.Commit) != r.id(t.Commit) && !r.goodIn(q, t.Commit) }
		if t.Good && !slices.ContainsFunc(others, bad) {
			return t.Commit
		}
	}
	return ""
}

// goodIn reports whether a place can go back to a commit, in any revision.
func (r *round) goodIn(p *place, commit string) bool {
	return slices.ContainsFunc(r.targets(p), func(t RollbackTarget) bool { return t.Good && r.id(t.Commit) == r.id(commit) })
}

// revisionOf returns the newest commit of the line with the manifests of a source commit, of those that a place had if there is one; "" if
// the line has none.
func (r *round) revisionOf(p *place, commit string) string {
	if commit == "" || !p.rules.ring {
		return commit
	}
	for _, c := range slices.Backward(p.carriers) {
		if r.id(c.Commit) == r.id(commit) {
			return c.Commit
		}
	}
	for _, c := range slices.Backward(r.Line) {
		if r.id(c) == r.id(commit) {
			return c
		}
	}
	return ""
}

// returns explains why a place leaves its commit for an earlier one, or "". A user's command does not depend on rules.
func (r *round) returns(p *place) string {
	if p.state == Unknown || p.env.Commit == "" {
		return ""
	}
	if b := r.rolledBack(p, p.env.Commit); b != nil {
		if b.In != "" {
			return "" // the ring goes back
		}
		return b.String()
	}
	if later := r.failedLater(p); later != "" {
		return later
	}
	if p.state == Failed && p.rules.OnFailure == v1alpha1.FailureRollback {
		return p.cause()
	}
	return ""
}

// goBack makes a place go back after a failure, if its rules say so, or because a user said so. It ignores pauses, windows and freezes. It
// reports whether the place goes back.
func (r *round) goBack(p *place, d *Decision) bool {
	cause := r.returns(p)
	command := r.rolledBack(p, p.env.Commit)
	by, back := v1alpha1.ApprovalPullRequest, ""
	switch position := r.position(p.env.Commit); {
	case command != nil && cause != "":
		by = p.rules.Approval
		if back = r.revisionOf(p, command.To); back == "" {
			back = r.target(p)
		}
	case cause == "":
		return r.leave(p, d)
	case p.rules.ring && position >= 0 && position < p.floor:
		d.say("goes back no further, because it went back already")
		return false
	case p.later && !p.rules.ring:
		d.say("no rollback, because %s ran before that change", fleet.ShortCommit(p.env.Commit))
		return false
	case p.rules.ring && r.rolledOut(p.env.Commit):
		d.say("no rollback, because every ring has run %s", fleet.ShortCommit(p.env.Commit))
		return false
	default:
		back = r.target(p)
	}
	if p.rules.ring {
		by = v1alpha1.ApprovalAutomatic
	}
	if back == "" || back == p.env.Commit {
		d.say("no earlier commit to roll back to")
		return false
	}
	return r.carryBack(p, d, ProposeRollback{p.name, p.env.Commit, back, cause, by}, command)
}

// carryBack adds the action that goes back, or says what it waits for.
func (r *round) carryBack(p *place, d *Decision, a ProposeRollback, command *Rollback) bool {
	to := fleet.ShortCommit(a.To)
	open, closed := p.env.proposal(ProposalOpen, a.To), p.env.proposal(ProposalClosed, a.To)
	disturbed, until := p.closed()
	switch {
	case open != nil:
		d.ask("going back to %s waits for people%s", to, at(open.URL))
	case closed != nil:
		d.say("the rollback to %s was rejected%s", to, at(closed.URL))
		return false
	case disturbed != "" && (command == nil || !command.Now):
		if p.state != Failed && p.state != TakenBack {
			d.say("%s", a.Reason)
		}
		d.say("goes back to %s later: %s", to, disturbed)
		d.wake(until, r.now)
		return false
	case a.By == v1alpha1.ApprovalPullRequest:
		d.do(a)
		d.say("proposes to go back to %s", to)
	case p.state == TakenBack:
		d.do(a)
		d.say("goes back to %s", to)
	default:
		d.do(a)
		d.say("goes back to %s, because %s", to, a.Reason)
	}
	return true
}

// leave makes an environment leave an aborted commit whose manifests are not merged, without asking: that changes no cluster, and the pull
// request with its manifests ends.
func (r *round) leave(p *place, d *Decision) bool {
	back := p.formerCommit(r)
	if back == "" {
		return false
	}
	d.say("goes back to %s, which its clusters still follow", fleet.ShortCommit(back))
	d.do(ProposeRollback{p.name, p.env.Commit, back, p.why, v1alpha1.ApprovalAutomatic})
	return true
}

// formerCommit returns the commit that the clusters follow while the present one was aborted before its manifests were merged; else "".
func (p *place) formerCommit(r *round) string {
	n := len(p.carriers)
	if p.state != TakenBack || r.aborted(p, p.env.Commit) == nil || p.env.Rollout.State == RolloutMerged || n == 0 {
		return ""
	}
	former := p.carriers[n-1].Commit
	if former == p.env.Commit || r.takenBack(p, former) != "" {
		return ""
	}
	return former
}

// passed returns the command that took the whole environment back from a commit that is newer than that of a ring, which had not got there; nil if
// there is none. The ring goes where the others go.
func (r *round) passed(p *place) *Rollback {
	for i := range p.env.Rollbacks {
		b := &p.env.Rollbacks[i]
		if b.All && r.older(p.env.Commit, b.Commit) && !p.env.Requested[p.env.Commit].After(b.At) {
			return b
		}
	}
	return nil
}

// hurries reports whether a place enters a commit of the line at once, because that takes it back from a commit that a user took back or that
// failed. Soaks in earlier rings do not delay it if it was good here within the window, or a user wants it fast.
func (r *round) hurries(p *place, commit string) (enters, skipsSoak bool) {
	if !p.rules.ring || !r.older(commit, p.env.Commit) {
		return false, false
	}
	b := r.rolledBack(p, p.env.Commit)
	if b == nil {
		b = r.passed(p)
	}
	failed := slices.ContainsFunc(r.all, func(q *place) bool {
		ev := q.evidence[p.env.Commit]
		return ev != nil && ev.failed
	})
	if b == nil && !failed {
		return false, false
	}
	if b != nil && b.Fast {
		return true, true
	}
	for at, ev := range p.evidence {
		if r.id(at) == r.id(commit) && ev.good(p.soak) && r.now.Sub(ev.seen) <= p.rules.window {
			return true, true
		}
	}
	return true, false
}
