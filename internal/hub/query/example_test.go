package query_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
)

// Two clusters should run a commit; one of them still runs the previous one.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // it is temporary
	facts, err := sqlite.Open(ctx, filepath.Join(folder, "ledger.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer facts.Close() //nolint:errcheck // nothing is written any more

	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	const before, head = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	for _, sha := range []string{before, head} {
		must(facts.RecordCommit(ctx, ledger.Commit{
			Repository: "https://git.example.com/gitops", Branch: "prod", SHA: sha, Kind: ledger.BranchPlatform, Environment: "prod", Recorded: noon,
		}))
	}
	for cluster, runs := range map[string]string{"large-01": head, "large-02": before} {
		must(facts.Register(ctx, ledger.Registration{Cluster: cluster, Memberships: []ledger.Membership{{Environment: "prod", ClusterType: "large"}}, At: noon}))
		must(facts.Report(ctx, ledger.Report{
			Reconciler: ledger.ReconcilerID{Cluster: cluster, Kind: "Kustomization", Name: "platform"},
			Outcome: ledger.Outcome{
				Source: ledger.Source{Repository: "https://git.example.com/gitops", Ref: "prod", Path: "large"}, Revision: runs, State: ledger.StateReady,
			},
			Observed: noon, Received: noon,
		}))
	}

	o := &query.Observer{Ledger: facts, Now: func() time.Time { return noon.Add(time.Minute) }}
	prod, err := o.Environment(ctx, query.EnvironmentQuery{Name: "prod"})
	must(err)
	fmt.Println("gate:", prod.Gate.Result, "-", prod.Gate.Reason)
	differ, err := o.Discrepancies(ctx, query.DiscrepanciesQuery{Environment: "prod"})
	must(err)
	for _, d := range differ.Items {
		fmt.Println(d.Cluster, d.State, "since", d.Since.Format(time.Kitchen))
	}
	_, err = o.Environment(ctx, query.EnvironmentQuery{Name: "prd"})
	fmt.Println(err)
	// Output:
	// gate: waiting - 1 of 2 clusters behind: large-02 is ready at 1111111
	// large-02 behind since 12:00PM
	// no environment "prd"; near it are prod
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
