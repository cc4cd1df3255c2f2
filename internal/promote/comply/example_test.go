package comply_test

import (
	"fmt"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// Two clusters have to run a commit. One does; the other has not reported for a while.
func Example() {
	now := time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)
	gitOps := hub.Source{Repository: "https://git.example/platform/gitops", Ref: "prod"}
	large := []comply.Membership{{Environment: "prod", ClusterType: "large"}}
	const commit = "9b5c1ce4f5a1d0a3b1f1d2e3c4b5a69788796a5b"

	verdict := comply.Judge(comply.Question{
		Commit: commit,
		Expected: comply.ExpectPlatform([]comply.Cluster{
			{Name: "large-06", Memberships: large, Heard: now},
			{Name: "large-07", Memberships: large, Heard: now.Add(-28 * time.Minute)},
		}, "prod", gitOps, comply.Folders{}),
		Observations: []comply.Observation{{
			Cluster: "large-06", Reconciler: "Kustomization flux-system/platform",
			Source:   hub.Source{Repository: gitOps.Repository, Ref: gitOps.Ref, Path: "large"},
			Revision: revisions.Parse("prod@sha1:" + commit), State: hub.StateReady, Observed: now,
		}},
		History: comply.HistoryOf(map[string]bool{commit: true}),
	}, now)

	fmt.Println(verdict.Result, "-", verdict.Reason)
	for _, r := range verdict.Reconcilers {
		fmt.Println(r.Cluster, r.State, "-", r.Reason)
	}
	// Output:
	// waiting - large-07 offline since 10:02 UTC
	// large-06 reached - runs 9b5c1ce
	// large-07 offline - no report since 10:02 UTC
}
