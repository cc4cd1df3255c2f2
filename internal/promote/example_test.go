package promote_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// shop is a pipeline with one environment whose manifests are published. A real pipeline reads Git and the forge.
type shop struct{ commit string }

func (s *shop) Read(context.Context) (*promote.State, error) {
	stages := []decide.Stage{{Name: "dev", Promotion: &v1alpha1.Promotion{}}}
	chain, problems := decide.NewChain(stages, nil)
	return &promote.State{
		Subject: "https://git.example/platform/control-plane", Chain: chain, Stages: stages, Problems: problems,
		Line: []promote.Commit{{SHA: s.commit}},
		Places: []promote.EnvironmentState{{
			Environment: "dev", Commit: s.commit,
			GitOps:  hub.Source{Repository: "https://git.example/platform/gitops", Ref: "dev"},
			Rollout: decide.Rollout{State: decide.RolloutMerged, Commit: "9b2e1c0000000000000000000000000000000000"},
		}},
	}, nil
}

func (s *shop) Move(_ context.Context, m promote.Move) (promote.MoveResult, error) {
	s.commit = m.Commit
	return promote.MoveResult{Did: "moved"}, nil
}

func (s *shop) Withdraw(context.Context, decide.Withdraw) error { return nil }

func (s *shop) SetStatus(_ context.Context, a decide.SetStatus) error {
	fmt.Println("  shown:", a.Description)
	return nil
}

// A commit is deployed when the environment's cluster reports that it runs the published manifests.
func Example() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "example-")
	defer os.RemoveAll(dir)
	book, err := sqlite.Open(ctx, filepath.Join(dir, "ledger.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer book.Close()
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	member := []ledger.Membership{{Environment: "dev", ClusterType: "large"}}
	_ = book.Register(ctx, ledger.Registration{Cluster: "large-01", Memberships: member, At: now})

	promoter := &promote.Promoter{Ledger: book, Ancestry: &equals{}, Now: func() time.Time { return now }}
	defer promoter.Close()
	pipeline := &shop{commit: "1f0c2aa000000000000000000000000000000000"}
	for _, event := range []string{"nothing", "nothing", "large-01 reports", "nothing"} {
		if event == "large-01 reports" {
			_ = book.Report(ctx, ledger.Report{
				Reconciler: ledger.ReconcilerID{Cluster: "large-01", Kind: "Kustomization", Namespace: "flux-system", Name: "platform"},
				Outcome: ledger.Outcome{
					Source:   ledger.Source{Repository: "https://git.example/platform/gitops", Ref: "dev", Path: "large"},
					Revision: "9b2e1c0000000000000000000000000000000000", State: ledger.StateReady,
				},
				Observed: now, Received: now,
			})
		}
		fmt.Println(event)
		outcome, err := promoter.Round(ctx, pipeline)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(" ", outcome.Environments[0].Reason)
		now = now.Add(time.Minute)
	}
	// Output:
	// nothing
	//   shown: Applying 0/1
	//   1f0c2aa waits: 1 of 1 cluster missing: large-01 has not reported yet
	// nothing
	//   1f0c2aa waits: 1 of 1 cluster missing: large-01 has not reported yet
	// large-01 reports
	//   shown: Deployed
	//   1f0c2aa is deployed
	// nothing
	//   1f0c2aa is deployed
}
