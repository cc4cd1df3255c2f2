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
	switch p.phase {
	case Promoted, Proposed:
		return Status{Pending, "Promoted"}, true
	case Refused:
		if p.env.Rollout.State == RolloutClosed {
			return Status{Failure, p.sentence()}, true
		}
		return Status{Pending, "Promoted, " + p.why}, true
	case NoClusters:
		return Status{Pending, "Waits: no cluster is expected"}, true
	case Deploying:
		if p.env.Verdict.Commit != p.env.Rollout.Commit {
			return Status{Pending, "Deploying"}, true
		}
		text := fmt.Sprintf("Deploying %d/%d", c.Reached, c.Counted)
		if c.Degraded > 0 {
			text += fmt.Sprintf(", %d degraded", c.Degraded)
		}
		return Status{Pending, text}, true
	case Verifying:
		return Status{Pending, "Verifying: " + p.checks[p.check].Name}, true
	case Deployed:
		return p.deployed(), true
	case Failed:
		return Status{Failure, "Failed: " + p.failure}, true
	case Aborted:
		return Status{Failure, p.sentence()}, true
	default:
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
			actions = append(actions, SetStatus{Environment: p.name, Commit: commit, Status: s})
		}
	}
	switch {
	case p.later && p.phase != Aborted:
		post(e.Commit, p.deployed())
	default:
		post(e.Commit, want)
	}
	if e.Head != e.Commit {
		post(e.Head, want)
	}
	for _, commit := range slices.Sorted(maps.Keys(e.Statuses)) {
		if e.Statuses[commit].State == Pending && commit != e.Commit && commit != e.Head {
			if u := e.underway(commit); u != nil {
				post(commit, u.status())
				continue
			}
			actions = append(actions, SetStatus{Environment: p.name, Commit: commit, Status: p.superseded()})
		}
	}
	return append(actions, p.checkStatuses()...)
}

func (p *place) superseded() Status {
	return Status{Failure, "Superseded by " + fleet.ShortCommit(p.env.Commit)}
}

// sentence describes the state of the commit without its name: "Aborted by anna" for "was aborted by anna".
func (p *place) sentence() string {
	why := strings.TrimPrefix(p.why, "was ")
	return strings.ToUpper(why[:1]) + why[1:]
}

// underway returns an earlier commit that the rings still roll out, or nil.
func (e *Environment) underway(commit string) *Underway {
	for i := range e.Underway {
		if e.Underway[i].Commit == commit {
			return &e.Underway[i]
		}
	}
	return nil
}

// status returns the status of an earlier commit.
func (u *Underway) status() Status {
	switch c := u.Verdict.Counts; u.Verdict.Result {
	case comply.Passed:
		return Status{Success, "Deployed"}
	case comply.Failed:
		return Status{Failure, "Failed: " + u.Verdict.Cause()}
	default:
		return Status{Pending, fmt.Sprintf("Deploying %d/%d", c.Reached, c.Counted)}
	}
}
