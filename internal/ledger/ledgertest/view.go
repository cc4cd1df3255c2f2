package ledgertest

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

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
	lost.Reconciler.Name, lost.Source.Repository = "lost", "https://git.example.com/unread"
	take(t, l, shared, app, lost)

	for view, want := range map[string]string{
		"environment_branch":                                 "dev 2, stage 2",
		"current_environment WHERE kind = 'platform'":        "dev 1, stage 1",
		"current_environment WHERE kind = ''":                " 1",
		"appearance WHERE repository LIKE '%platform%'":      "dev 1, stage 1",
		"appearance WHERE workload = 'shop'":                 "dev 1",
		"appearance WHERE repository LIKE '%unread'":         " 1",
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

// FigureViews checks that the SQL views of the delivery metrics have the values of [ledger.Perform]. The ledger is empty, and db is
// its database.
func FigureViews(t *testing.T, l ledger.Ledger, db *sql.DB) {
	t.Helper()
	deployments(t, l)
	for _, q := range []ledger.DeploymentQuery{{Workload: "shop"}, {Environment: "prod", From: at(100)}} {
		all, err := l.Deployments(t.Context(), q)
		must(t, err)
		incidents, err := l.Incidents(t.Context(), q)
		must(t, err)
		p := ledger.Perform(all, incidents, 24*time.Hour)
		want := fmt.Sprintf("%d %.0f %.2f %.0f", p.Deployments, p.LeadTime.Seconds(), p.ChangeFailureRate, p.TimeToRestore.Seconds())
		var n int
		var lead, rate, restore float64
		row := db.QueryRowContext(t.Context(), `SELECT f.deployments, l.seconds, c.rate, r.seconds
			FROM deployment_frequency f
			JOIN lead_time l ON l.control_plane = f.control_plane AND l.workload = f.workload
			JOIN change_failure_rate c ON c.control_plane = f.control_plane AND c.workload = f.workload
			JOIN time_to_restore r ON r.control_plane = f.control_plane AND r.workload = f.workload
			WHERE f.workload = $1`, q.Workload)
		must(t, row.Scan(&n, &lead, &rate, &restore))
		equal(t, fmt.Sprintf("views of %q", q.Workload), fmt.Sprintf("%d %.0f %.2f %.0f", n, lead, rate, restore), want)
	}
}
