package promote_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// found returns a scheduling round on commit m of main and b of the environment branch, with everything published.
func found(change func(*schedule.Outcome)) *schedule.Outcome {
	o := &schedule.Outcome{
		Inputs: schedule.Inputs{Main: schedule.Input{Name: "main", Commit: "m"}, Branch: schedule.Input{Name: "dev", Commit: "b"}},
		Head:   "g", Plan: &plan.Plan{},
	}
	if change != nil {
		change(o)
	}
	return o
}

// held returns an assignment that is held because of a problem in a source.
func held(source string, kind fleet.ProblemKind) plan.Change {
	return plan.Change{Op: plan.Held, Title: "shop/cart", ClusterType: "large", Reason: &fleet.Problem{
		Kind: kind, Position: fleet.Position{Source: source, File: "a.yaml", Line: 7}, Message: "it is wrong",
	}}
}

func TestRolloutOf(t *testing.T) {
	open := &forge.PullRequest{State: forge.Open, URL: "u"}
	tooMuch := []plan.Refusal{{Message: "12 removals"}}
	for name, tc := range map[string]struct {
		outcome *schedule.Outcome
		want    decide.Rollout
	}{
		"no round yet":             {nil, decide.Rollout{}},
		"a round that came to nil": {&schedule.Outcome{}, decide.Rollout{}},
		"published":                {found(nil), decide.Rollout{State: decide.RolloutMerged, Commit: "g"}},
		"of another commit of main": {
			found(func(o *schedule.Outcome) { o.Inputs.Main.Commit = "other" }), decide.Rollout{},
		},
		"of another commit of the branch": {
			found(func(o *schedule.Outcome) { o.Inputs.Branch.Commit = "other" }), decide.Rollout{},
		},
		"not proposed, since the forge is away": {found(func(o *schedule.Outcome) { o.Files = 3 }), decide.Rollout{}},
		"open": {
			found(func(o *schedule.Outcome) { o.Files, o.PullRequest = 3, open }), decide.Rollout{State: decide.RolloutOpen, URL: "u", Manual: true},
		},
		"open, and merged automatically": {
			found(func(o *schedule.Outcome) {
				o.Files, o.PullRequest = 3, open
				o.Loaded = &schedule.Loaded{Snapshot: &fleet.Snapshot{GitOps: &fleet.GitOpsRepo{AutoMerge: true}}}
			}),
			decide.Rollout{State: decide.RolloutOpen, URL: "u"},
		},
		"merged a moment ago": {
			found(func(o *schedule.Outcome) {
				o.Files, o.PullRequest = 3, &forge.PullRequest{State: forge.Merged, URL: "u"}
			}),
			decide.Rollout{State: decide.RolloutOpen, URL: "u"},
		},
		"too many removals": {
			found(func(o *schedule.Outcome) { o.Files, o.PullRequest, o.Plan.Refusals = 3, open, tooMuch }),
			decide.Rollout{State: decide.RolloutRefused, Reason: "12 removals", URL: "u"},
		},
		"too many removals, agreed to": {
			found(func(o *schedule.Outcome) {
				o.Files, o.Plan.Refusals = 3, tooMuch
				o.PullRequest = &forge.PullRequest{State: forge.Open, URL: "u", Labels: []string{pullrequest.LabelAllowDeletions}}
			}),
			decide.Rollout{State: decide.RolloutOpen, URL: "u", Manual: true},
		},
		"closed by a person": {
			found(func(o *schedule.Outcome) { o.Files, o.Refused = 3, &forge.PullRequest{State: forge.Closed, URL: "u"} }),
			decide.Rollout{State: decide.RolloutClosed, URL: "u"},
		},
		"held because of the control plane": {
			found(func(o *schedule.Outcome) {
				o.Plan.Assignments = []plan.Change{held("dev", fleet.KindConfigSchema), held("main", fleet.KindTemplateSyntax)}
			}),
			decide.Rollout{State: decide.RolloutRefused, Reason: "2 assignments are held, such as shop/cart on large: a.yaml:7: it is wrong"},
		},
		"held because of an application": {
			found(func(o *schedule.Outcome) {
				o.Plan.Assignments = []plan.Change{held("https://git.example/shop", fleet.KindYAMLSyntax), held("main", fleet.KindUnreachable)}
			}),
			decide.Rollout{State: decide.RolloutMerged, Commit: "g"},
		},
		"something else than was rendered": {
			found(func(o *schedule.Outcome) {
				o.Plan.Problems = []fleet.Problem{{Kind: fleet.KindNotRendered, Position: fleet.Position{Source: "gitops", File: "large/more.yaml"}, Message: "mallory added it"}}
			}),
			decide.Rollout{State: decide.RolloutRefused, Reason: "large/more.yaml: mallory added it"},
		},
		"main cannot be read": {
			found(func(o *schedule.Outcome) {
				o.Inputs.Main.Commit = ""
				o.Plan.Problems = []fleet.Problem{{Severity: fleet.SeverityError, Kind: fleet.KindHeld, Position: fleet.Position{File: "base.yaml", Line: 3}, Message: "commit x is not on main"}}
			}),
			decide.Rollout{State: decide.RolloutRefused, Reason: "base.yaml:3: commit x is not on main"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, promote.RolloutOf(tc.outcome, "m", "b")); diff != "" {
				t.Errorf("rollout (-want +got):\n%s", diff)
			}
		})
	}
}
