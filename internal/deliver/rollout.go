package deliver

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Current returns an environment's build for promotion: the proposed or published one, or the one of the newest pull
// request if a user closed it. A closed build is not proposed again automatically.
func (o *Outcome) Current() Build {
	if o.rejected() {
		return o.Closed
	}
	return o.Build
}

// of returns the environment's build of a commit: the published one or, before that, the proposed one. ok is false if the
// environment has another commit.
func (o *Outcome) of(commit string) (b Build, ok bool) {
	if o == nil || commit == "" {
		return Build{}, false
	}
	if o.GitOps != nil && o.GitOps.Build.Commit == commit && o.PullRequest == nil {
		return o.GitOps.Build, true
	}
	b = o.Current()
	return b, b.Commit == commit
}

// rejected reports whether a user closed the newest pull request, and its commit is not published.
func (o *Outcome) rejected() bool {
	return o.PullRequest == nil && o.Closed.Commit != "" && (o.GitOps == nil || o.Closed.Commit != o.GitOps.Build.Commit)
}

// Rollout returns the progress of a commit's manifests. It returns the
// zero value if the round was about another commit.
func (o *Outcome) Rollout(commit string) decide.Rollout {
	switch {
	case o.rejected() && o.Closed.Commit == commit:
		return decide.Rollout{State: decide.RolloutClosed}
	case o.Build.Commit == commit && o.OffBranch != nil:
		return decide.Rollout{State: decide.RolloutRefused, Reason: o.OffBranch.Error()}
	case o.Build.Commit != commit || o.Draft == nil || o.Draft.Plan == nil:
		return decide.Rollout{}
	case o.Refused != nil:
		return decide.Rollout{State: decide.RolloutClosed, URL: o.Refused.URL}
	case o.PullRequest != nil && o.PullRequest.State == forge.Merged:
		return decide.Rollout{} // the next round determines its state
	case o.PullRequest != nil:
		if why := o.refusal(); why != "" {
			return decide.Rollout{State: decide.RolloutRefused, Reason: why, URL: o.PullRequest.URL}
		}
		if o.Merges {
			return decide.Rollout{State: decide.RolloutOpen, URL: o.PullRequest.URL}
		}
		return decide.Rollout{State: decide.RolloutOffered, URL: o.PullRequest.URL}
	case len(o.Draft.changes) > 0:
		return decide.Rollout{}
	}
	if why := cmp.Or(o.Draft.Plan.held(), schedule.Unrendered(o.Draft.Plan.Problems)); why != "" {
		return decide.Rollout{State: decide.RolloutRefused, Reason: why}
	}
	if pins, all := o.GitOps.Published.Pins(), o.GitOps.Published.Targets; len(all) > 0 && len(pins) == len(all) {
		return decide.Rollout{State: decide.RolloutPinned, Reason: "each target is pinned or uninstalled, so none runs it: deploy one again with kalypso target deploy"}
	}
	return decide.Rollout{State: decide.RolloutMerged, Commit: o.GitOps.Commit}
}

// refusal returns why the open pull request needs a user; empty if it only waits to be merged.
func (o *Outcome) refusal() string {
	if s := pullrequest.CheckStatus(o.Draft.Findings, o.Draft.Plan.broken()); s.State == forge.Failure {
		return "the checks refuse it: " + s.Description
	}
	if s := scanStatus(o.Draft); s.State == forge.Failure {
		return "the scans refuse it: " + s.Description
	}
	if p := o.Draft.Plan; len(p.Refusals) > 0 && !o.PullRequest.HasLabel(pullrequest.LabelAllowDeletions) {
		return p.Refusals[0]
	}
	return o.Draft.Plan.held()
}

// broken names a target that cannot be rendered for the commit that the plan promotes; empty if all can.
func (p *Plan) broken() string {
	i := slices.IndexFunc(p.Targets, TargetChange.held)
	if i < 0 || !p.Promotes() {
		return ""
	}
	return fmt.Sprintf("target %s cannot be rendered: %s", p.Targets[i].Name, p.Targets[i].Reason.Message)
}

// held reports whether a problem holds the target. Targets that keep files changed by hand do not count.
func (t TargetChange) held() bool { return t.Op == plan.Held && t.Reason.Kind != KindDrift }

// held explains why a target does not have the commit's content; empty if all have it. Targets that keep files
// changed by hand do not count.
func (p *Plan) held() string {
	var first string
	held := 0
	for _, t := range p.Targets {
		if !t.held() {
			continue
		}
		if held++; held == 1 {
			first = fmt.Sprintf("%s: %s", t.Name, t.Reason.Message)
			if at := t.Reason.Position.String(); at != "" {
				first = fmt.Sprintf("%s: %s: %s", t.Name, at, t.Reason.Message)
			}
		}
	}
	switch held {
	case 0:
		return ""
	case 1:
		return "a target is held, " + first
	}
	return fmt.Sprintf("%d targets are held, such as %s", held, first)
}
