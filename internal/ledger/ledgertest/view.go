package ledgertest

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Views checks that the SQL views show what is on shared branches for each environment that shares them. The ledger
// is empty, and db is its database.
func Views(t *testing.T, l ledger.Ledger, db *sql.DB) {
	t.Helper()
	must(t, l.RecordCommit(t.Context(), ledger.Commit{
		Repository: platform, Branch: "fleet", SHA: sha(1), Kind: ledger.BranchPlatform, Committed: at(1), Recorded: at(1),
		Assignments: []ledger.Assignment{{ClusterType: "large", Target: "shop-east", Environment: "dev"}, {ClusterType: "large", Target: "shop-east", Environment: "stage"}},
	}))
	east, west := shopVersion("1.0", 0), shopVersion("1.0", 0)
	east.Environment, west.Environment, west.Path = "dev", "stage", "west"
	must(t, l.RecordCommit(t.Context(), ledger.Commit{
		Repository: shop, Branch: "fleet", SHA: sha(1), Kind: ledger.BranchApplication, Committed: at(1), Recorded: at(1),
		Versions: []ledger.Version{east, west},
	}))
	shared, app, lost := report("large-01", 3, 1, ledger.StateReady), shopReport("large-01", 3, 1, ledger.StateReady), report("large-01", 3, 1, ledger.StateReady)
	shared.Source.Ref, app.Source.Ref = "fleet", "fleet"
	lost.Reconciler.Name, lost.Source.Repository = "lost", "https://git.example.com/nobody"
	take(t, l, shared, app, lost)

	for view, want := range map[string]string{
		"environment_branch":                                 "dev 2, stage 2",
		"current_environment WHERE kind = 'platform'":        "dev 1, stage 1",
		"current_environment WHERE kind = ''":                " 1",
		"appearance WHERE repository LIKE '%platform%'":      "dev 1, stage 1",
		"appearance WHERE workload = 'shop'":                 "dev 1",
		"appearance WHERE repository LIKE '%nobody'":         " 1",
		"environment_history WHERE what = 'commit'":          "dev 2, stage 2",
		"environment_history WHERE what = 'rollout'":         " 1, dev 2, stage 1",
		"(SELECT DISTINCT environment, 1 FROM appearance) x": " 1, dev 1, stage 1",
	} {
		rows, err := db.QueryContext(t.Context(), "SELECT environment, COUNT(*) FROM "+view+" GROUP BY environment ORDER BY environment")
		must(t, err)
		got := ""
		for rows.Next() {
			var environment string
			var n int
			must(t, rows.Scan(&environment, &n))
			if got != "" {
				got += ", "
			}
			got += fmt.Sprint(environment, " ", n)
		}
		must(t, rows.Err())
		equal(t, view, got, want)
	}
}
