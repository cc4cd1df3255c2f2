package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// place holds one environment or ring during a decision.
type place struct {
	*stage
	env   *Environment
	state State
	// carriers are those of the environment and, last, the present one, even if no fact names it. present is that one; nil before the
	// manifests are merged.
	carriers []Carrier
	present  *Carrier
	evidence map[string]*evidence // by commit
	// proven are the positions of the carriers in which the gate, the checks and the approvals held together.
	proven []int
	// standing is what the gate says of the present carrier now.
	standing comply.Standing
	// soak is how long a commit has to run here until it is good.
	soak time.Duration
	// later is set if the commit had proven itself here, and a later change of the environment is rolled out now, such as of its
	// configuration or of a workload. state and why are then those of the change. Approvals and bypasses up to staleBefore are not for it.
	later       bool
	staleBefore time.Time
	// returned means that the commit is older than the one before.
	returned bool
	// stays means that a user aborted the return to the commit: nothing else goes back, and what went back stays where it is.
	stays bool
	// why describes the state of the commit, or of the later change. It follows the name of the commit in a sentence.
	why string
	// failure is the cause of a failure for its status: it stays the same while more clusters fail in the same way.
	failure string
	// inRing means that it is that of a ring of the environment.
	inRing  bool
	now     time.Time
	authors map[string][]string
	// checks is the progress of the verifications; nil before the manifests are merged. check is the position of the one
	// that the commit waits for, or -1.
	checks []CheckProgress
	check  int
	// before holds the environments in which a commit must have run first; nil for those that are not in the chain.
	before []*place
	// bars are the rollbacks that keep commits out: those of this place and of all before it.
	bars []*Rollback
	// gaveUp are the aborts of this place and of all before it.
	gaveUp []*Abort
	// closed returns the result of [site.closed] at the time of the round. It and delays, the results of [round.delayed] by position, are
	// computed once: a ring can have hundreds of such clusters, and each stage asks for those of all earlier rings.
	closed func() (why string, until time.Time)
	delays []*bool
	// beside holds the stages of the ring of a cluster that says when it may be changed.
	beside []*place
	// floor is the position of the newest commit that the place ever had, or -1.
	floor int
}

// assess sets the state of the place.
func (p *place) assess(r *round) {
	e := p.env
	p.stays = e.Rollout.State == RolloutMerged && slices.ContainsFunc(e.Aborts, func(a Abort) bool { return r.id(a.Commit) == r.id(e.Commit) && r.ends(p, &a) })
	switch {
	case e.Unknown != "":
		p.state, p.why = Unknown, "nothing is known: "+e.Unknown
	case e.Commit == "":
		p.state, p.why = Outside, "runs no commit yet"
	case r.takenBack(p, e.Commit) != "":
		p.state, p.why = TakenBack, r.takenBack(p, e.Commit)
	default:
		p.assessRollout()
	}
}

func (p *place) assessRollout() {
	switch r := p.env.Rollout; r.State {
	case RolloutRefused:
		p.state, p.why = Rejected, "needs approval"+because(r.Reason)
	case RolloutPinned:
		p.state, p.why = NoClusters, "waits: "+r.Reason
	case RolloutClosed:
		p.state, p.why = Rejected, "was rejected: its pull request was closed without being merged"+at(r.URL)
	case RolloutOpen, RolloutOffered:
		p.state, p.why = Proposed, "waits for its pull request to be merged"+at(r.URL)
	case RolloutMerged:
		p.assessStanding()
	default:
		p.state, p.why = Proposed, "waits for its pull request to be opened"
	}
}

// assessStanding sets the state of a commit whose manifests are published, from what the gate says now.
func (p *place) assessStanding() {
	v := p.env.Verdict
	current := v.Commit == p.env.Rollout.Commit
	ev := p.evidence[p.env.Commit]
	proven := !ev.proven.IsZero() && !p.later
	waits := "waits for the first reports of its clusters"
	if current && v.Reason != "" {
		waits = "waits: " + v.Reason
	}
	switch {
	case p.standing == comply.StandingFailed:
		p.fail(cmp.Or(v.Reason, "clusters failed"), cmp.Or(v.Cause(), v.Reason))
		p.inRing = p.env.Rings
	case ev.held && p.failedCheck() != nil:
		p.failCheck(p.failedCheck())
	case p.standing == comply.StandingHolds, p.standing == comply.StandingNoClusters && p.rules.Gate.AllowNone:
		p.assessChecks(ev)
	case p.standing == comply.StandingNoClusters:
		p.state, p.why = NoClusters, waits
	case proven && p.standing == comply.StandingUnknown:
		p.state, p.why = Unproven, "was deployed, and too few clusters are known to run it"+because(v.Reason)
	case proven && p.standing == comply.StandingLost:
		p.state, p.why = Drifted, "was deployed, and clusters do not run it any more"+because(v.Reason)
	case p.returned && !p.later && !p.stays:
		p.state, p.why = GoingBack, waits
	default:
		p.state, p.why = Applying, waits
	}
}

// failedCheck returns the verification that failed, or nil.
func (p *place) failedCheck() *CheckProgress {
	for i := range p.checks {
		switch p.checks[i].State {
		case CheckPassed, CheckBypassed:
		case CheckFailed:
			return &p.checks[i]
		default:
			return nil // the next ones have not begun
		}
	}
	return nil
}

func (p *place) failCheck(g *CheckProgress) {
	reason := fmt.Sprintf("verification %q%s", g.Name, because(g.Reason))
	p.fail(reason, reason)
}

// assessChecks sets the state from the progress of the verifications, in order.
func (p *place) assessChecks(ev *evidence) {
	for i := range p.checks {
		g := &p.checks[i]
		if g.State == CheckPassed || g.State == CheckBypassed {
			continue
		}
		p.state, p.check = Checking, i
		p.why = fmt.Sprintf("waits for verification %q%s", g.Name, because(g.Reason))
		others := func(c *Check) bool { return c.Approval != nil || c.CommitStatus != nil }
		left := func(i int) bool {
			return p.checks[i].State != CheckPassed && p.checks[i].State != CheckBypassed && !others(&p.rules.Verify[i])
		}
		waits := true
		for at := i; at < len(p.checks); at++ {
			waits = waits && !left(at)
		}
		if waits {
			p.state = Awaiting
		}
		return
	}
	p.state, p.why = Good, "is deployed"+p.bypasses()
	if !ev.good(p.soak) {
		p.state = Soaking
	}
}

// asksUser reports whether a user has to act before the manifests are published.
func (p *place) asksUser() bool {
	r := p.env.Rollout
	return p.state == Rejected || p.state == Proposed && (r.State == RolloutOffered || r.State == RolloutOpen && r.Manual)
}

func (p *place) fail(reason, cause string) {
	p.state, p.why, p.failure = Failed, "failed: "+reason, cause
}

// free reports whether another commit can take the place of the present one.
func (p *place) free() bool {
	switch p.state {
	case Outside, Rejected, Soaking, Good, Unproven, Drifted, Failed, TakenBack, NoClusters:
		return true
	case Awaiting:
		return !p.rules.newerWaits
	case Proposed:
		return p.env.Rollout.State == RolloutOffered
	case Applying, GoingBack:
		return p.env.Rings && len(p.rules.Verify) == 0
	default:
		return false
	}
}

// ends reports whether a command aborted the return to a commit: it was given after a rollback to it, and before the clusters ran it.
func (r *round) ends(p *place, a *Abort) bool {
	return slices.ContainsFunc(p.env.Rollbacks, func(b Rollback) bool { return r.aborts(p, a, &b) })
}

// aborts reports whether a command aborted a rollback. One that ended, because clusters ran some commit after it, is not aborted any more: neither
// is it by the abort of a commit that was requested later.
func (r *round) aborts(p *place, a *Abort, b *Rollback) bool {
	ran := func(c Carrier) bool {
		held := func(s comply.Span) bool { return s.Standing == comply.StandingHolds && s.From.Before(a.At) }
		return c.Entered.After(b.At) && slices.ContainsFunc(c.Spans, held)
	}
	return a.At.After(b.At) && r.older(a.Commit, b.Commit) && !slices.ContainsFunc(p.carriers, ran)
}

// aborted returns the command that aborted a commit in a place, or nil.
func (r *round) aborted(p *place, commit string) *Abort {
	if p.stays && commit == p.env.Commit {
		return nil
	}
	for i := range p.env.Aborts {
		if r.id(p.env.Aborts[i].Commit) == r.id(commit) {
			return &p.env.Aborts[i]
		}
	}
	return nil
}

// rolledBack returns the command that took a commit back here, or nil.
func (r *round) rolledBack(p *place, commit string) *Rollback {
	for i := range p.env.Rollbacks {
		b := &p.env.Rollbacks[i]
		stopped := func(a Abort) bool { return r.aborts(p, &a, b) }
		if r.id(b.Commit) == r.id(commit) && !p.env.Requested[commit].After(b.At) && !slices.ContainsFunc(p.env.Aborts, stopped) {
			return b
		}
	}
	return nil
}

// takenBack returns who took a commit back here and why, or "". It follows the name of the commit in a sentence.
func (r *round) takenBack(p *place, commit string) string {
	if a := r.aborted(p, commit); a != nil {
		return a.String()
	}
	if b := r.rolledBack(p, commit); b != nil {
		return b.String()
	}
	return ""
}

// barred returns why a commit does not enter a place by itself although nothing is wrong with it there: it, or a commit that it contains,
// was taken back here or before.
func (r *round) barred(p *place, commit string) string {
	for _, b := range p.bars {
		if p.env.Requested[commit].After(b.At) {
			continue
		}
		if r.id(b.Commit) == r.id(commit) {
			return b.String()
		}
		merged, known := r.merged(commit)
		if r.older(b.Commit, commit) && known && !merged.After(b.At) {
			return fmt.Sprintf("contains %s, which %s", fleet.ShortCommit(r.id(b.Commit)), b)
		}
	}
	return ""
}

// merged returns when a commit was merged, if that is known.
func (r *round) merged(commit string) (time.Time, bool) {
	at, known := r.Merged[r.id(commit)]
	if !known {
		at = r.Merged[commit]
	}
	return at, !at.IsZero()
}

// skipped reports whether a user let a commit pass.
func (e *Environment) skipped(commit string) bool {
	return slices.ContainsFunc(e.Skips, func(s Skip) bool { return s.Commit == commit })
}

// request returns the request that is not done: the place did not have its commit then, and it has not entered since.
func (p *place) request() *Request {
	q := p.env.Request
	if q == nil || q.Commit == p.env.Commit {
		return nil
	}
	since := func(c Carrier) bool {
		return c.Commit == q.Commit && (c.Entered.After(q.At) || c.Left.IsZero() || c.Left.After(q.At))
	}
	if !q.At.IsZero() && slices.ContainsFunc(p.carriers, since) {
		return nil
	}
	return q
}

// String returns who aborted the commit and why. It follows the name of the commit in a sentence.
func (a *Abort) String() string { return "was aborted by " + a.By + because(a.Why) }

// String returns who took the commit back and why. It follows the name of the commit in a sentence.
func (b *Rollback) String() string {
	if b.In != "" {
		return "was taken back in " + b.In + " by " + b.By + because(b.Why)
	}
	return "was taken back by " + b.By + because(b.Why)
}

// cause returns why the commit failed.
func (p *place) cause() string { return strings.TrimPrefix(p.why, "failed: ") }

func at(url string) string {
	if url == "" {
		return ""
	}
	return " (" + url + ")"
}
