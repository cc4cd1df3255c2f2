package promote

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Rollouts gives access to the results of scheduling rounds of a control plane's environments.
type Rollouts interface {
	// Rollout returns the result of the last scheduling round of an environment, or nil.
	Rollout(ctx context.Context, environment string) (*schedule.Outcome, error)
}

// RolloutOf returns the rollout of a commit of main according to a scheduling round. branch is the head of the environment's
// branch. If the round was for other commits, the state is RolloutNone.
//
// A branch that has something else than what was rendered does not count: that was not planned, checked or approved.
//
// Assignments that are held because an application cannot be read stay as published, and do not block the rollout.
// Assignments that are held because of the control plane itself do: otherwise the commit would count as deployed without
// being applied.
func RolloutOf(o *schedule.Outcome, main, branch string) decide.Rollout {
	if o == nil || o.Plan == nil || o.Inputs.Branch.Commit != branch {
		return decide.Rollout{}
	}
	if o.Inputs.Main.Commit == "" {
		return refused(lostMain(o.Plan), "")
	}
	switch {
	case o.Inputs.Main.Commit != main:
		return decide.Rollout{}
	case o.Refused != nil:
		return decide.Rollout{State: decide.RolloutClosed, URL: o.Refused.URL}
	case o.PullRequest != nil && o.PullRequest.State != forge.Merged && len(o.Plan.Refusals) > 0 && !o.PullRequest.HasLabel(pullrequest.LabelAllowDeletions):
		return refused(o.Plan.Refusals[0].Message, o.PullRequest.URL)
	case o.PullRequest != nil:
		return decide.Rollout{State: decide.RolloutOpen, URL: o.PullRequest.URL, Manual: o.PullRequest.State != forge.Merged && !mergesAutomatically(o)}
	case o.Files > 0:
		return decide.Rollout{}
	default:
		return published(o)
	}
}

// mergesAutomatically reports whether the pull requests of an environment need no user.
func mergesAutomatically(o *schedule.Outcome) bool {
	return o.Loaded != nil && o.Loaded.Snapshot.GitOps != nil && o.Loaded.Snapshot.GitOps.AutoMerge
}

func refused(reason, url string) decide.Rollout {
	return decide.Rollout{State: decide.RolloutRefused, Reason: reason, URL: url}
}

// published returns the rollout if the GitOps branch contains everything that can be rendered.
func published(o *schedule.Outcome) decide.Rollout {
	if why := schedule.Unrendered(o.Plan.Problems); why != "" {
		return refused(why, "")
	}
	var reason string
	ours := 0
	for _, c := range o.Plan.Assignments {
		if c.Op == plan.Held && c.Reason != nil && byControlPlane(c.Reason, o.Inputs) {
			if ours++; ours == 1 {
				reason = fmt.Sprintf("%s on %s: %s: %s", c.Title, c.Folder(), c.Reason.Position, c.Reason.Message)
			}
		}
	}
	switch {
	case ours == 1:
		return refused("an assignment is held, "+reason, "")
	case ours > 1:
		return refused(fmt.Sprintf("%d assignments are held, such as %s", ours, reason), "")
	}
	return decide.Rollout{State: decide.RolloutMerged, Commit: o.Head}
}

// byControlPlane reports whether a problem is in the platform team's files.
func byControlPlane(p *fleet.Problem, in schedule.Inputs) bool {
	return p.Kind != fleet.KindUnreachable && (p.Position.Source == in.Main.Name || p.Position.Source == in.Branch.Name)
}

// lostMain returns why main could not be read.
func lostMain(p *plan.Plan) string {
	for _, problem := range p.Problems {
		if problem.Kind == fleet.KindHeld && problem.Severity == fleet.SeverityError {
			return fmt.Sprintf("%s: %s", problem.Position, problem.Message)
		}
	}
	return "the promoted commit of main cannot be read"
}
