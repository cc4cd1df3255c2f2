package postgres_test

import (
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/ledgertest"
	"github.com/kalypso-io/kalypso/internal/ledger/postgres"
	"github.com/kalypso-io/kalypso/internal/ledger/postgrestest"
)

var update = flag.Bool("update", false, "rewrite schema.sql")

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func report(cluster string, n int) ledger.Report {
	at := noon.Add(time.Duration(n) * time.Second)
	return ledger.Report{
		Reconciler: ledger.ReconcilerID{Cluster: cluster, Kind: "Kustomization", Name: "apps"},
		Outcome:    ledger.Outcome{Source: ledger.Source{Repository: "r", Ref: "prod"}, Revision: fmt.Sprint(n), State: ledger.StateReady},
		Observed:   at, Received: at,
	}
}

// TestServer has the cases that need a server of their own; one for all, since it takes a while to start.
func TestServer(t *testing.T) {
	server := postgrestest.Start(t)
	t.Run("silences of two servers", func(t *testing.T) { twoServers(t, server) })
	t.Run("earlier version", func(t *testing.T) { earlier(t, server) })
	t.Run("schema", func(t *testing.T) { schema(t, server) })
	t.Run("processes", func(t *testing.T) { processes(t, server) })
	t.Run("newer schema", func(t *testing.T) { newerSchema(t, server) })
	t.Run("dashboards", func(t *testing.T) { dashboards(t, server) })
	t.Run("views of shared branches", func(t *testing.T) {
		l := open(t, server.Create(t, "views"))
		ledgertest.Views(t, l, l.Read)
	})
	t.Run("views of figures", func(t *testing.T) {
		l := open(t, server.Create(t, "figures"))
		ledgertest.FigureViews(t, l, l.Read)
	})
	t.Run("grafana", func(t *testing.T) { grafana(t, server) })
	t.Run("away", func(t *testing.T) { away(t, server) })
	t.Run("restart", func(t *testing.T) { restart(t, server) })
}

// schema: schema.sql is what the migrations make, for those who want to read it or write dashboards.
func schema(t *testing.T, server *postgrestest.Server) {
	open(t, server.Create(t, "ledger"))
	dump := exec.Command(filepath.Join(server.Programs, "pg_dump"), "--schema-only", "--no-owner", "--schema=ledger", server.URL("ledger"))
	output, err := dump.Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(output)) {
		// What is left out depends on the versions of the programs.
		if line == "\n" || strings.HasPrefix(line, "--") || strings.HasPrefix(line, "SET ") || strings.HasPrefix(line, "SELECT pg_catalog.") || strings.HasPrefix(line, `\`) {
			continue
		}
		lines = append(lines, strings.ReplaceAll(line, "ledger.", ""))
	}
	got := "-- The newest schema, as the migrations make it; a test keeps it so.\n" + strings.Join(lines, "")
	if *update {
		if err := os.WriteFile("schema.sql", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(server.Programs, "/15/bin") {
		t.Skip("schema.sql is as PostgreSQL 15 writes it; others write it in other words")
	}
	if diff := cmp.Diff(string(committed), got); diff != "" {
		t.Errorf("schema.sql is stale; -update rewrites it (-committed +migrated):\n%s", diff)
	}
}

// processes: several that open a ledger at once all find it ready, and reports on one cluster may arrive at any of them.
func processes(t *testing.T, server *postgrestest.Server) {
	url := server.Create(t, "shared")
	const servers, rounds = 3, 20
	var wait sync.WaitGroup
	errs := make(chan error, servers)
	for s := range servers {
		wait.Go(func() {
			l, err := postgres.Open(t.Context(), url)
			if err != nil {
				errs <- err
				return
			}
			for n := range rounds {
				err = errors.Join(err, l.Report(t.Context(), report("shared", n*servers+s), report(fmt.Sprintf("own-%d-%d", s, n), n), report(fmt.Sprintf("new-%d", n), s)))
			}
			errs <- errors.Join(err, l.Close())
		})
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, url)
	page, err := l.States(t.Context(), ledger.StateQuery{})
	if err != nil || len(page.States) != 1+servers*rounds+rounds {
		t.Fatalf("%d states, %v", len(page.States), err)
	}
	facts, err := l.Transitions(t.Context(), ledger.TransitionQuery{Cluster: "shared"})
	if err != nil || len(facts) != servers*rounds || facts[0].Revision != fmt.Sprint(servers*rounds-1) {
		t.Errorf("%d transitions, the last to %q, %v", len(facts), facts[0].Revision, err)
	}
	counted := server.SQL(t, "SELECT SUM(reconcilers) FROM shared.outcome; SELECT COUNT(*) FROM shared.outcome WHERE reconcilers < 0")
	if want := fmt.Sprintf("%d\n0\n", len(page.States)); counted != want {
		t.Errorf("counted %q, want %q", counted, want)
	}
}

// twoServers: a silence is stored once, and never overlaps another one, whichever server hears the cluster again.
func twoServers(t *testing.T, server *postgrestest.Server) {
	url := server.Create(t, "silences")
	servers := []*postgres.Ledger{open(t, url), open(t, url)}
	var wait sync.WaitGroup
	for _, l := range servers {
		wait.Go(func() {
			for n := range 40 {
				if err := l.Heard(t.Context(), "large-01", noon.Add(time.Duration(n)*3*time.Minute)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	ledgertest.Disjoint(t, servers[0], noon, noon.Add(39*3*time.Minute))
}

func newerSchema(t *testing.T, server *postgrestest.Server) {
	url := server.Create(t, "newer")
	server.SQL(t, "CREATE TABLE newer.schema_version (version BIGINT NOT NULL); INSERT INTO newer.schema_version VALUES (999)")
	if _, err := postgres.Open(t.Context(), url); err == nil || !strings.Contains(err.Error(), "use a newer one") {
		t.Errorf("got %v, want that it is newer", err)
	}
	if _, err := postgres.Open(t.Context(), "postgres://user:geheim@[broken"); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("got %v, want an error without the password", err)
	}
}

// dashboards: times are microseconds, which at_time makes times of.
func dashboards(t *testing.T, server *postgrestest.Server) {
	l := open(t, server.Create(t, "board"))
	if err := l.Report(t.Context(), report("large-01", 0)); err != nil {
		t.Fatal(err)
	}
	got := server.SQL(t, "SET search_path = board; SET timezone = 'UTC'; SELECT cluster, state, at_time(since), at_time(0) IS NULL FROM current_reconciler")
	if want := "large-01|ready|2026-03-02 12:00:00+00|t\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	ledgertest.Document(t, l.Read, "../../../docs/reference/ledger.md")
}

// restart: reports that a dying server did not store are refused, and are stored when they are repeated.
func restart(t *testing.T, server *postgrestest.Server) {
	l := open(t, server.Create(t, "restarted"))
	const rounds = 200
	halfway := make(chan struct{})
	lost := make(chan []ledger.Report, 1)
	go func() {
		var refused []ledger.Report
		for n := range rounds {
			if n == rounds/4 {
				close(halfway)
			}
			if err := l.Report(t.Context(), report("large-01", n)); err != nil {
				refused = append(refused, report("large-01", n))
			}
		}
		lost <- refused
	}()
	<-halfway
	server.Restart(t)
	for _, r := range <-lost {
		if err := l.Report(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	facts, err := l.Transitions(t.Context(), ledger.TransitionQuery{Cluster: "large-01"})
	if err != nil || len(facts) != rounds {
		t.Errorf("%d transitions, %v, want %d", len(facts), err, rounds)
	}
}

// away: a database that is stopped does not answer, and answers again without a new start of the program.
func away(t *testing.T, server *postgrestest.Server) {
	l := open(t, server.Create(t, "away"))
	if err := l.Ping(t.Context()); err != nil {
		t.Error("the database runs:", err)
	}
	server.While(t, func() {
		if err := l.Ping(t.Context()); err == nil {
			t.Error("a stopped database answers")
		}
	})
	if err := l.Ping(t.Context()); err != nil {
		t.Error("the database runs again:", err)
	}
}

// earlier opens a ledger that commit 33f1b606 wrote. Servers of that version that still run cannot store their words.
func earlier(t *testing.T, server *postgrestest.Server) {
	packed, err := os.Open("testdata/earlier.sql.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	statements, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	server.SQL(t, string(statements)+"\nSET search_path TO earlier;\n"+ledgertest.EarlierStates()+";") // makes the schema
	l := open(t, server.URL("earlier"))
	ledgertest.Earlier(t, l, open(t, server.Create(t, "copied")), l.Read,
		`SELECT detail::jsonb ->> 'phase' AS phase FROM promotion_step WHERE detail::jsonb ? 'phase' ORDER BY 1`)
	err = l.RecordStep(t.Context(), ledger.Step{PromotionID: ledger.PromotionID{Subject: "c", Commit: "1", Environment: "dev"}, Kind: "entered", At: noon})
	if err == nil || !strings.Contains(err.Error(), "promotion_step_words") {
		t.Errorf("a step of an earlier version: got %v, want an error", err)
	}
	err = l.RecordStep(t.Context(), ledger.Step{
		PromotionID: ledger.PromotionID{Subject: "c", Commit: "1", Environment: "dev"}, Kind: "stateChanged", At: noon, Detail: []byte(`{"phase":"deploying"}`),
	})
	if err == nil || !strings.Contains(err.Error(), "promotion_step_states") {
		t.Errorf("a state of an earlier version: got %v, want an error", err)
	}
}
