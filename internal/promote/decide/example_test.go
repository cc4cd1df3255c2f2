package decide_test

import (
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// A commit has been deployed to dev since ten o'clock. In stage it waits for one cluster.
func Example() {
	ten := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	chain, problems := decide.NewChain([]decide.Stage{
		{Name: "dev", Promotion: &v1alpha1.Promotion{}},
		{Name: "stage", Promotion: &v1alpha1.Promotion{After: []string{"dev"}}},
		{Name: "prod", Promotion: &v1alpha1.Promotion{After: []string{"stage"}, Approval: v1alpha1.ApprovalPullRequest}},
	}, nil)
	if len(problems) > 0 {
		fmt.Println(problems)
	}
	const commit, rollout = "9b5c1ce4f5a1d0a3b1f1d2e3c4b5a69788796a5b", "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
	deployed := decide.Environment{
		Name: "dev", Commit: commit, Rollout: decide.Rollout{State: decide.RolloutMerged, Commit: rollout},
		Carriers: []decide.Carrier{{
			Commit: commit, Revision: rollout, Entered: ten,
			Spans: []comply.Span{{From: ten.Add(time.Minute), To: ten.Add(20 * time.Minute), Standing: comply.StandingHolds}},
		}},
		Statuses: map[string]decide.Status{commit: {State: decide.Success, Description: "Deployed"}},
	}
	deploying := decide.Environment{
		Name: "stage", Commit: commit, Rollout: decide.Rollout{State: decide.RolloutMerged, Commit: rollout},
		Verdict: comply.Verdict{
			Commit: rollout, Result: comply.Waiting, Reason: "2 of 37 clusters behind: large-03, large-11, large-07 offline since 10:02 UTC",
			Counts: comply.Counts{Expected: 37, Counted: 37, Required: 37, Reached: 34, Behind: 2, Offline: 1, Degraded: 1},
		},
		Carriers: []decide.Carrier{{Commit: commit, Revision: rollout, Entered: ten.Add(2 * time.Minute)}},
	}

	for _, d := range decide.Decide(decide.Facts{
		Chain: chain, Line: []string{commit},
		Environments: []decide.Environment{deployed, deploying, {Name: "prod"}},
	}, ten.Add(20*time.Minute)) {
		fmt.Printf("%s: %s\n", d.Environment, d.Reason)
		for _, action := range d.Actions {
			fmt.Println("   ", action)
		}
	}
	// Output:
	// dev: 9b5c1ce is deployed
	// stage: 9b5c1ce waits: 2 of 37 clusters behind: large-03, large-11, large-07 offline since 10:02 UTC
	//     status of 9b5c1ce in stage: pending "Applying 34/37, 1 degraded"
	// prod: runs no commit yet; 9b5c1ce waits: it is being deployed in stage
}
