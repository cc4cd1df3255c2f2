package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestAsks lists when a user has to act. Failures keep their cause while more clusters fail in the same way.
func TestAsks(t *testing.T) {
	now := clock("10:00")
	old, commit := strings.Repeat("a", 40), strings.Repeat("b", 40)
	failed := func(clusters ...string) comply.Verdict {
		v := comply.Verdict{Commit: "g", Result: comply.Failed, Counts: comply.Counts{Failed: len(clusters)}}
		for i, c := range clusters {
			v.Reconcilers = append(v.Reconcilers, comply.Reconciler{
				Cluster: c, State: comply.Broken, Reason: "fails at 1f0c2aa: no image", Since: now.Add(time.Duration(i) * time.Minute),
			})
		}
		v.Reason = strings.Join(clusters, ", ") + " failed"
		return v
	}
	merged := decide.Rollout{State: decide.RolloutMerged, Commit: "g"}
	proposal := func(from, to string) []decide.Proposal {
		return []decide.Proposal{{From: from, Commit: to, State: decide.ProposalOpen, URL: "u"}}
	}
	deployedBefore := ranAt(nil, old, now.Add(-time.Hour))
	for name, tc := range map[string]struct {
		rules   v1alpha1.Promotion
		env     decide.Environment
		asks    []string
		failure string
	}{
		"merged automatically": {env: decide.Environment{Commit: commit, Rollout: decide.Rollout{State: decide.RolloutOpen, URL: "u"}}},
		"merged by a user": {
			env:  decide.Environment{Commit: commit, Rollout: decide.Rollout{State: decide.RolloutOpen, URL: "u", Manual: true}},
			asks: []string{"bbbbbbb waits for its pull request to be merged (u)"},
		},
		"offered": {
			env:  decide.Environment{Commit: commit, Rollout: decide.Rollout{State: decide.RolloutOffered, URL: "u"}},
			asks: []string{"bbbbbbb waits for its pull request to be merged (u)"},
		},
		"refused": {
			env:  decide.Environment{Commit: commit, Rollout: decide.Rollout{State: decide.RolloutRefused, Reason: "12 removals"}},
			asks: []string{"bbbbbbb needs approval: 12 removals"},
		},
		"promotion by pull request": {
			rules: v1alpha1.Promotion{Approval: v1alpha1.ApprovalPullRequest},
			env: decide.Environment{
				Commit: old, Rollout: merged, Proposals: proposal(old, commit),
				Carriers: []decide.Carrier{{Commit: old, Revision: "g", Spans: []comply.Span{{To: now, Standing: comply.StandingHolds}}}},
			},
			asks: []string{"bbbbbbb waits for its promotion to be merged (u)"},
		},
		"deploying": {env: decide.Environment{Commit: commit, Rollout: merged}},
		"one failed": {
			env: decide.Environment{Commit: commit, Rollout: merged, Verdict: failed("large-01")}, failure: "large-01 fails at 1f0c2aa: no image",
		},
		"more failed": {
			env: decide.Environment{Commit: commit, Rollout: merged, Verdict: failed("large-01", "large-02", "large-03")}, failure: "large-01 fails at 1f0c2aa: no image",
		},
		"rollback": {
			rules:   v1alpha1.Promotion{OnFailure: v1alpha1.FailureRollback},
			env:     decide.Environment{Commit: commit, Rollout: merged, Verdict: failed("large-01"), Carriers: deployedBefore, Proposals: proposal(commit, old)},
			asks:    []string{"going back to aaaaaaa waits for people (u)"},
			failure: "large-01 fails at 1f0c2aa: no image",
		},
	} {
		t.Run(name, func(t *testing.T) {
			chain, _ := decide.NewChain([]decide.Stage{{Name: "dev", Promotion: &tc.rules}}, nil)
			tc.env.Name = "dev"
			d := decide.Decide(decide.Facts{Chain: chain, Line: []string{old, commit}, Environments: []decide.Environment{tc.env}}, now)[0]
			if diff := cmp.Diff(tc.asks, d.Asks); diff != "" || d.Failure != tc.failure {
				t.Errorf("failure %q; asks (-want +got):\n%s\n%s", d.Failure, diff, d.Reason)
			}
		})
	}
}
