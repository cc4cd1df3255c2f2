package postgres_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/postgres"
	"github.com/kalypso-io/kalypso/internal/ledger/postgrestest"
)

// dashboard is what matters of a dashboard of Grafana.
type dashboard struct {
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name  string `json:"name"`
			Type  string `json:"type"`
			Query string `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		Title   string `json:"title"`
		Targets []struct {
			SQL string `json:"rawSql"`
		} `json:"targets"`
	} `json:"panels"`
}

// grafana: the queries of the dashboards run, and show what is in a ledger that has something of everything.
func grafana(t *testing.T, server *postgrestest.Server) {
	l := open(t, server.Create(t, "grafana"))
	something(t, l)
	reader(t, server)
	files, err := filepath.Glob("../../../deploy/grafana/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var d dashboard
			if err := json.Unmarshal(text, &d); err != nil {
				t.Fatal(err)
			}
			for _, v := range d.Templating.List {
				if v.Type == "query" && rows(t, l, v.Query) == 0 {
					t.Errorf("variable %s has no values: %s", v.Name, v.Query)
				}
			}
			for _, panel := range d.Panels {
				for _, target := range panel.Targets {
					if rows(t, l, target.SQL) == 0 {
						t.Errorf("panel %q shows nothing: %s", panel.Title, target.SQL)
					}
				}
			}
		})
	}
}

// reader: the user that the dashboards' page makes reads views, and no hashes of credentials.
func reader(t *testing.T, server *postgrestest.Server) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/grafana/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```sql\n")
	statements, _, _ := strings.Cut(after, "```")
	server.SQL(t, strings.NewReplacer("SCHEMA ledger", "SCHEMA grafana", "search_path = ledger", "search_path = grafana", "ledger.", "grafana.").Replace(statements))
	as := "SET ROLE grafana; SET search_path = grafana; "
	if got := server.SQL(t, as+"SELECT COUNT(*) FROM current_reconciler"); got != "2\n" {
		t.Errorf("the reader sees %q reconcilers, want 2", got)
	}
	if got := server.SQL(t, as+"SELECT has_table_privilege('token', 'SELECT'), has_column_privilege('registration', 'credential_hash', 'SELECT')"); got != "f|f\n" {
		t.Errorf("the reader may read credentials: %q", got)
	}
}

// rows runs a query as Grafana would, with one value for each variable, and counts its rows.
func rows(t *testing.T, l *postgres.Ledger, query string) int {
	t.Helper()
	query = strings.NewReplacer(
		"${environment:sqlstring}", "'prod'", "${workload:sqlstring}", "'shop'", "${workspace:sqlstring}", "'retail'",
		"${cluster:sqlstring}", "'large-01'",
	).Replace(query)
	for {
		before, after, found := strings.Cut(query, "$__timeFilter(")
		if !found {
			break
		}
		// The macro's argument is a call itself: at_time(column).
		argument, rest, _ := strings.Cut(after, "))")
		query = before + argument + ") BETWEEN '2026-01-01' AND '2027-01-01'" + rest
	}
	result, err := l.Read.QueryContext(t.Context(), query)
	if err != nil {
		t.Errorf("%s: %v", query, err)
		return -1
	}
	defer result.Close() //nolint:errcheck // Err says what went wrong
	n := 0
	for result.Next() {
		n++
	}
	if err := result.Err(); err != nil {
		t.Errorf("%s: %v", query, err)
		return -1
	}
	return n
}

// something puts something of everything into a ledger: a version that arrived, failed and was restored, and one that fails.
func something(t *testing.T, l *postgres.Ledger) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	platform := ledger.Source{Repository: "https://git.example.com/platform/gitops", Ref: "prod", Path: "large"}
	shop := ledger.Source{Repository: "https://git.example.com/retail/shop-gitops", Ref: "prod", Path: "east"}
	must(l.Register(t.Context(), ledger.Registration{
		Cluster: "large-01", Memberships: []ledger.Membership{{Environment: "prod", ClusterType: "large"}}, At: noon,
	}))
	must(l.RecordCommit(t.Context(), ledger.Commit{
		Repository: platform.Repository, Branch: "prod", SHA: "p1", Kind: ledger.BranchPlatform, Environment: "prod", Committed: noon, Recorded: noon,
		Assignments: []ledger.Assignment{{ClusterType: "large", Target: "shop-east", Workload: "shop", Workspace: "retail"}},
	}))
	must(l.RecordCommit(t.Context(), ledger.Commit{
		Repository: shop.Repository, Branch: "prod", SHA: "s1", Kind: ledger.BranchApplication, Environment: "prod", Committed: noon, Recorded: noon,
		Versions: []ledger.Version{{
			Workload: "shop", Workspace: "retail", Target: "shop-east", Environment: "prod", Path: "east", Version: "1.0", Built: noon.Add(-time.Hour),
		}},
	}))
	observe := func(name string, source ledger.Source, revision string, state ledger.State, minutes int) {
		t.Helper()
		at := noon.Add(time.Duration(minutes) * time.Minute)
		must(l.Report(t.Context(), ledger.Report{
			Reconciler: ledger.ReconcilerID{Cluster: "large-01", Kind: "Kustomization", Namespace: "flux-system", Name: name},
			Outcome:    ledger.Outcome{Source: source, Revision: revision, State: state, Message: "as asked"}, Observed: at, Received: at,
		}))
	}
	observe("shop", shop, "s1", ledger.StateReady, 1)
	observe("shop", shop, "s1", ledger.StateFailed, 2)
	observe("shop", shop, "s1", ledger.StateReady, 3)
	observe("platform", platform, "p1", ledger.StateFailed, 1)
	must(l.RecordStep(t.Context(), ledger.Step{
		PromotionID: ledger.PromotionID{Subject: "https://git.example.com/platform/control-plane", Commit: "c1", Environment: "prod"},
		Kind:        "started", Reason: "approved", By: "ann", At: noon,
	}))
	must(l.RecordChange(t.Context(), ledger.ChangeEvent{Repository: platform.Repository, Number: 1, Kind: "merged", Branch: "prod", At: noon}))
}
