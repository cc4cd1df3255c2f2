package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// StatusState is what a status says.
type StatusState string

// What a status says.
const (
	Pending StatusState = "pending"
	Success StatusState = "success"
	Failure StatusState = "failure"
)

// Status is what a commit is shown to be in an environment; its context is the environment's name.
type Status struct {
	State       StatusState
	Description string
}

// status is what the commit is shown to be; ok is false when nothing can be said.
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
	case Nobody:
		return Status{Pending, "Waits: no cluster is expected"}, true
	case Deploying:
		if p.env.Verdict.Commit != p.env.Rollout.Commit {
			return Status{Pending, "Deploying"}, true
		}
		return Status{Pending, fmt.Sprintf("Deploying %d/%d", c.Reached, c.Counted)}, true
	case Verifying:
		return Status{Pending, "Verifying: " + p.check.Name}, true
	case Deployed:
		return Status{Success, "Deployed"}, true
	case Failed, Aborted:
		return Status{Failure, p.sentence()}, true
	default:
		return Status{}, false
	}
}

// statuses are those that commits do not have yet: the commit and that of the environment's own branch,
// and those that left before anything came of them.
func (p *place) statuses() []Action {
	want, ok := p.status()
	if !ok {
		return nil
	}
	e := p.env
	var actions []Action
	for i, commit := range []string{e.Commit, e.Head} {
		if commit != "" && e.Statuses[commit] != want && (i == 0 || commit != e.Commit) {
			actions = append(actions, SetStatus{p.name, commit, want})
		}
	}
	for _, commit := range slices.Sorted(maps.Keys(e.Statuses)) {
		if e.Statuses[commit].State == Pending && commit != e.Commit && commit != e.Head {
			actions = append(actions, SetStatus{p.name, commit, Status{Failure, "Superseded by " + fleet.ShortCommit(e.Commit)}})
		}
	}
	return actions
}

// sentence says how the commit stands where its name is not in front: "Aborted by anna" for "was aborted by anna".
func (p *place) sentence() string {
	why := strings.TrimPrefix(p.why, "was ")
	return strings.ToUpper(why[:1]) + why[1:]
}
