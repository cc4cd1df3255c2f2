package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// StatusState is the state of a commit status.
type StatusState string

// The states of a commit status.
const (
	Pending StatusState = "pending"
	Success StatusState = "success"
	Failure StatusState = "failure"
)

// Status is the status of a commit in an environment, or of one of its verifications.
type Status struct {
	State       StatusState
	Description string
}

// status returns the status of the environment's commit, or false if it has none.
func (p *place) status() (s Status, ok bool) {
	c := p.env.Verdict.Counts
	switch p.state {
	case Proposed:
		return Status{Pending, "Promoted"}, true
	case Rejected:
		if p.env.Rollout.State == RolloutClosed {
			return Status{Failure, p.sentence()}, true
		}
		return Status{Pending, "Promoted, " + p.why}, true
	case NoClusters:
		if p.env.Rollout.State == RolloutPinned {
			return Status{Pending, p.sentence()}, true
		}
		return Status{Pending, "Waits: no cluster is expected"}, true
	case Applying, GoingBack:
		if p.env.Verdict.Commit != p.env.Rollout.Commit {
			return Status{Pending, "Applying"}, true
		}
		text := fmt.Sprintf("Applying %d/%d", c.Reached, c.Counted)
		if c.Degraded > 0 {
			text += fmt.Sprintf(", %d degraded", c.Degraded)
		}
		return Status{Pending, text}, true
	case Checking, Awaiting:
		return Status{Pending, "Checking: " + p.checks[p.check].Name}, true
	case Soaking, Good:
		return p.deployed(), true
	case Failed:
		return Status{Failure, "Failed: " + p.failure}, true
	case TakenBack:
		return Status{Failure, p.sentence()}, true
	default: // a cluster that is silent for a while changes no status
		return Status{}, false
	}
}

// statuses returns the statuses to post: those of the environment's commit and of the head of its branch,
// and failures for commits that were replaced while their status was pending.
func (p *place) statuses() []Action {
	want, ok := p.status()
	if !ok {
		return nil
	}
	e := p.env
	var actions []Action
	post := func(commit string, s Status) {
		if commit != "" && e.Statuses[commit] != s {
			actions = append(actions, p.countsIn(SetStatus{Environment: p.name, Commit: commit, Status: s}, want))
		}
	}
	switch {
	case p.later && p.state != TakenBack:
		post(e.Commit, p.deployed())
	default:
		post(e.Commit, want)
	}
	if e.Head != e.Commit {
		post(e.Head, want)
	}
	for _, commit := range slices.Sorted(maps.Keys(e.Statuses)) {
		if e.Statuses[commit].State == Pending && commit != e.Commit && commit != e.Head {
			post(commit, p.former(commit))
		}
	}
	return append(actions, p.checkStatuses()...)
}

// countsIn adds the numbers of clusters to the status of the environment's commit, if it has some.
func (p *place) countsIn(a SetStatus, want Status) SetStatus {
	v := p.env.Verdict
	if a.Status == want && (p.state == Applying || p.state == GoingBack) && v.Commit == p.env.Rollout.Commit {
		a.Done, a.Of = v.Counts.Reached, v.Counts.Counted
	}
	return a
}

func (p *place) superseded() Status {
	return Status{Failure, "Superseded by " + fleet.ShortCommit(p.env.Commit)}
}

// sentence describes the state of the commit without its name: "Aborted by anna" for "was aborted by anna".
func (p *place) sentence() string {
	why := strings.TrimPrefix(p.why, "was ")
	return strings.ToUpper(why[:1]) + why[1:]
}

// former returns the status of a commit that the place has no more. Rings may still roll it out.
func (p *place) former(commit string) Status {
	ev := p.evidence[commit]
	switch {
	case ev != nil && !ev.proven.IsZero():
		return Status{Success, "Deployed"}
	case ev != nil && ev.failed:
		return Status{Failure, "Failed"}
	case ev != nil && p.env.Rings && p.rollsOut(commit):
		return p.env.Statuses[commit]
	default:
		return p.superseded()
	}
}

// rollsOut reports whether rings still roll out a commit that is not the newest one.
func (p *place) rollsOut(commit string) bool {
	for i := range p.carriers {
		if c := &p.carriers[i]; c.Commit == commit && len(c.Spans) > 0 && c.Spans[len(c.Spans)-1].Standing == comply.StandingWaiting {
			return true
		}
	}
	return false
}
