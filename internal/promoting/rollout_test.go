package promoting_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/plan"
	"github.com/kalypso-io/kalypso/internal/promoting"
	"github.com/kalypso-io/kalypso/internal/promotion"
	"github.com/kalypso-io/kalypso/internal/scheduling"
)

// found is a scheduling round on commit m of main and b of the environment branch, which found all published.
func found(change func(*scheduling.Outcome)) *scheduling.Outcome {
	o := &scheduling.Outcome{
		Inputs: scheduling.Inputs{Main: scheduling.Input{Name: "main", Commit: "m"}, Branch: scheduling.Input{Name: "dev", Commit: "b"}},
		Head:   "g", Plan: &plan.Plan{},
	}
	if change != nil {
		change(o)
	}
	return o
}

// held is an assignment that is held because of something in a source.
func held(source string, kind fleet.ProblemKind) plan.Change {
	return plan.Change{Op: plan.Held, Title: "shop/cart", ClusterType: "large", Reason: &fleet.Problem{
		Kind: kind, Position: fleet.Position{Source: source, File: "a.yaml", Line: 7}, Message: "it is wrong",
	}}
}

func TestRolloutOf(t *testing.T) {
	open := &forge.Change{State: forge.Open, URL: "u"}
	tooMuch := []plan.Refusal{{Message: "12 removals"}}
	for name, tc := range map[string]struct {
		outcome *scheduling.Outcome
		want    promotion.Rollout
	}{
		"no round yet":             {nil, promotion.Rollout{}},
		"a round that came to nil": {&scheduling.Outcome{}, promotion.Rollout{}},
		"published":                {found(nil), promotion.Rollout{State: promotion.RolloutMerged, Commit: "g"}},
		"of another commit of main": {
			found(func(o *scheduling.Outcome) { o.Inputs.Main.Commit = "other" }), promotion.Rollout{},
		},
		"of another commit of the branch": {
			found(func(o *scheduling.Outcome) { o.Inputs.Branch.Commit = "other" }), promotion.Rollout{},
		},
		"not proposed, since the forge is away": {found(func(o *scheduling.Outcome) { o.Files = 3 }), promotion.Rollout{}},
		"open": {
			found(func(o *scheduling.Outcome) { o.Files, o.Change = 3, open }), promotion.Rollout{State: promotion.RolloutOpen, URL: "u"},
		},
		"merged a moment ago": {
			found(func(o *scheduling.Outcome) { o.Files, o.Change = 3, &forge.Change{State: forge.Merged, URL: "u"} }),
			promotion.Rollout{State: promotion.RolloutOpen, URL: "u"},
		},
		"too many removals": {
			found(func(o *scheduling.Outcome) { o.Files, o.Change, o.Plan.Refusals = 3, open, tooMuch }),
			promotion.Rollout{State: promotion.RolloutRefused, Reason: "12 removals", URL: "u"},
		},
		"too many removals, agreed to": {
			found(func(o *scheduling.Outcome) {
				o.Files, o.Plan.Refusals = 3, tooMuch
				o.Change = &forge.Change{State: forge.Open, URL: "u", Labels: []string{scheduling.LabelAllowDeletions}}
			}),
			promotion.Rollout{State: promotion.RolloutOpen, URL: "u"},
		},
		"closed by a person": {
			found(func(o *scheduling.Outcome) { o.Files, o.Refused = 3, &forge.Change{State: forge.Closed, URL: "u"} }),
			promotion.Rollout{State: promotion.RolloutClosed, URL: "u"},
		},
		"held because of the control plane": {
			found(func(o *scheduling.Outcome) {
				o.Plan.Assignments = []plan.Change{held("dev", fleet.KindConfigSchema), held("main", fleet.KindTemplateSyntax)}
			}),
			promotion.Rollout{State: promotion.RolloutRefused, Reason: "2 assignments are held, such as shop/cart on large: a.yaml:7: it is wrong"},
		},
		"held because of an application": {
			found(func(o *scheduling.Outcome) {
				o.Plan.Assignments = []plan.Change{held("https://git.example/shop", fleet.KindYAMLSyntax), held("main", fleet.KindUnreachable)}
			}),
			promotion.Rollout{State: promotion.RolloutMerged, Commit: "g"},
		},
		"main cannot be read": {
			found(func(o *scheduling.Outcome) {
				o.Inputs.Main.Commit = ""
				o.Plan.Problems = []fleet.Problem{{Severity: fleet.SeverityError, Kind: fleet.KindHeld, Position: fleet.Position{File: "base.yaml", Line: 3}, Message: "commit x is not on main"}}
			}),
			promotion.Rollout{State: promotion.RolloutRefused, Reason: "base.yaml:3: commit x is not on main"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, promoting.RolloutOf(tc.outcome, "m", "b")); diff != "" {
				t.Errorf("rollout (-want +got):\n%s", diff)
			}
		})
	}
}
