package decide

import (
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// place is one environment while it is decided about.
type place struct {
	*stage
	env   *Environment
	phase Phase
	// why says how the commit stands, in words that follow its name.
	why string
	// check is the verification that is not done.
	check *Check
	runs  []run // by position on the line
	// floor is the position of the newest commit that ever entered; -1 when none did.
	floor int
}

// assess finds out in which phase the environment is.
func (p *place) assess() {
	e := p.env
	switch {
	case e.Unknown != "":
		p.phase, p.why = Unknown, "nothing is known: "+e.Unknown
	case e.Commit == "":
		p.phase, p.why = Empty, "runs no commit yet"
	case e.aborted(e.Commit) != nil:
		p.phase, p.why = Aborted, e.aborted(e.Commit).String()
	default:
		p.assessRollout()
	}
}

func (p *place) assessRollout() {
	r := p.env.Rollout
	switch r.State {
	case RolloutRefused:
		p.phase, p.why = Refused, "waits for a person"+because(r.Reason)
	case RolloutClosed:
		p.phase, p.why = Refused, "was turned down: its change was closed without being merged"+at(r.URL)
	case RolloutOpen, RolloutOffered:
		p.phase, p.why = Proposed, "waits for its change to be merged"+at(r.URL)
	case RolloutMerged:
		p.assessVerdict()
	default:
		p.phase, p.why = Promoted, "waits for its change to be proposed"
	}
}

// assessVerdict looks at the clusters. What arrived has arrived: that a cluster is silent later, or a new one is not there yet,
// does not take it back. A failure does.
func (p *place) assessVerdict() {
	v := p.env.Verdict
	asked := v.Commit == p.env.Rollout.Commit
	switch {
	case asked && v.Result == comply.Failed && v.Counts.Failed > 0:
		p.phase, p.why = Failed, "failed: "+v.Reason
	case p.env.outcome() == Arrived:
		p.phase, p.why = Deployed, "is deployed"
	case asked && (v.Result == comply.Failed || v.Result == comply.TimedOut):
		p.phase, p.why = Failed, "failed: "+v.Reason
	case asked && v.Result == comply.Nobody:
		p.phase, p.why = Nobody, "waits: "+v.Reason
	case asked && v.Result == comply.Passed:
		p.assessChecks()
	case asked && v.Result == comply.Waiting:
		p.phase, p.why = Deploying, "waits: "+v.Reason
	default:
		p.phase, p.why = Deploying, "waits: there is no verdict of the clusters yet"
	}
}

// assessChecks looks at the verifications, one after the other.
func (p *place) assessChecks() {
	for i := range p.rules.Verify {
		check := &p.rules.Verify[i]
		switch result := p.env.result(check.Name); result.State {
		case CheckPassed:
			continue
		case CheckFailed:
			p.phase, p.why = Failed, fmt.Sprintf("failed: verification %q%s", check.Name, because(result.Reason))
		default:
			p.phase, p.why = Verifying, fmt.Sprintf("waits for verification %q", check.Name)
			p.check = check
		}
		return
	}
	p.phase, p.why = Deployed, "is deployed"
}

// result is what came of a verification of this rollout.
func (e *Environment) result(name string) CheckResult {
	for _, c := range e.Checks {
		if c.Name == name && c.Revision == e.Rollout.Commit {
			return c
		}
	}
	return CheckResult{}
}

// outcome is the last thing on record about this rollout; empty when there is nothing.
func (e *Environment) outcome() StepKind {
	for i := len(e.History) - 1; i >= 0; i-- {
		if s := e.History[i]; s.Kind != Entered && s.Commit == e.Commit && s.Revision == e.Rollout.Commit {
			return s.Kind
		}
	}
	return ""
}

// entered is the commit that entered last, as far as it is on record.
func (e *Environment) entered() string {
	for i := len(e.History) - 1; i >= 0; i-- {
		if e.History[i].Kind == Entered {
			return e.History[i].Commit
		}
	}
	return ""
}

// aborted returns the word of a person that a commit is given up; nil when there is none.
func (e *Environment) aborted(commit string) *Abort {
	for i := range e.Aborts {
		if e.Aborts[i].Commit == commit {
			return &e.Aborts[i]
		}
	}
	return nil
}

// String says who gave the commit up and why, in words that follow the name of the commit.
func (a *Abort) String() string { return "was aborted by " + a.By + because(a.Why) }

// unrecorded are the steps that happened and are not on record.
func (p *place) unrecorded(now time.Time) []Action {
	e := p.env
	record := func(kind StepKind, revision, reason string) []Action {
		return []Action{Record{p.name, Step{Kind: kind, Commit: e.Commit, Revision: revision, At: now}, reason}}
	}
	switch {
	case p.phase == Unknown || e.Commit == "":
		return nil
	case e.entered() != e.Commit:
		return record(Entered, "", "")
	case p.phase == Deployed && e.outcome() != Arrived:
		return record(Arrived, e.Rollout.Commit, "")
	case p.phase == Failed && e.outcome() != FailedHere:
		return record(FailedHere, e.Rollout.Commit, p.cause())
	default:
		return nil
	}
}

// cause says why the commit failed.
func (p *place) cause() string { return strings.TrimPrefix(p.why, "failed: ") }

func at(url string) string {
	if url == "" {
		return ""
	}
	return " (" + url + ")"
}
