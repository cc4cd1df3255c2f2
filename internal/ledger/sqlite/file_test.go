package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/ledgertest"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
)

var update = flag.Bool("update", false, "rewrite schema.sql")

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func report(name string) ledger.Report {
	return ledger.Report{
		Reconciler: ledger.ReconcilerID{Cluster: "large-01", Kind: "Kustomization", Name: name},
		Outcome:    ledger.Outcome{Source: ledger.Source{Repository: "r", Ref: "prod"}, State: ledger.StateReady},
		Observed:   noon, Received: noon,
	}
}

func export(t *testing.T, l *sqlite.Ledger) string {
	t.Helper()
	var b bytes.Buffer
	if err := ledger.Export(t.Context(), l, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSchema: schema.sql is what the migrations make, for those who want to read it or query the file.
func TestSchema(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	open(t, file)
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var schema strings.Builder
	schema.WriteString("-- The newest schema, as the migrations make it; a test keeps it so.\n")
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		schema.WriteString("\n" + text + ";\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.sql", []byte(schema.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(committed), schema.String()); diff != "" {
		t.Errorf("schema.sql is stale; -update rewrites it (-committed +migrated):\n%s", diff)
	}
}

// TestReopen: what was reported is there when the ledger is opened again, and migrations run once.
func TestReopen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "with space? and %20.db")
	first, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Report(t.Context(), report("a")); err != nil {
		t.Fatal(err)
	}
	want := export(t, first)
	for range 2 {
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Report(t.Context(), report("b")); err == nil {
		t.Error("report to a closed ledger: got no error")
	}
	second := open(t, file)
	if diff := cmp.Diff(want, export(t, second)); diff != "" {
		t.Errorf("after reopening (-want +got):\n%s", diff)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want only the owner's", info.Mode(), err)
	}
}

// TestBackup: a backup is a ledger with everything that was there, and never overwrites anything.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	l := open(t, filepath.Join(dir, "ledger.db"))
	if err := l.Report(t.Context(), report("a"), report("b")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "not there", "it's a backup.db")
	if err := l.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(export(t, l), export(t, open(t, file))); diff != "" {
		t.Errorf("backup (-want +got):\n%s", diff)
	}
	if err := l.Backup(t.Context(), file); err == nil {
		t.Error("backup over a file: got no error")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	newer := filepath.Join(dir, "newer.db")
	db, err := sql.Open("sqlite", newer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 999"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{newer: "use a newer one", text: "not a database", filepath.Join(dir, "no", "folder.db"): "no such file"} {
		if _, err := sqlite.Open(t.Context(), file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", filepath.Base(file), err, want)
		}
	}
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	l, err := sqlite.Open(ctx, filepath.Join(dir, "ledger.db"))
	if err != nil {
		panic(err)
	}
	defer l.Close()

	// The newer report arrives first.
	newer, older := report("shop"), report("shop")
	newer.Revision, newer.Observed = "two", noon.Add(time.Minute)
	older.Revision = "one"
	if err := l.Report(ctx, newer, older); err != nil {
		panic(err)
	}
	for _, asOf := range []time.Time{{}, noon} {
		page, err := l.States(ctx, ledger.StateQuery{Cluster: "large-01", AsOf: asOf})
		if err != nil {
			panic(err)
		}
		for _, s := range page.States {
			fmt.Println(s.Reconciler.Name, s.Revision, s.State)
		}
	}
	// Output:
	// shop two ready
	// shop one ready
}

func TestViewsOfSharedBranches(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	ledgertest.Views(t, l, l.Read)
}

func TestViewsOfFigures(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	ledgertest.FigureViews(t, l, l.Read)
}

func TestDocumentedQueries(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	ledgertest.Document(t, l.Read, "../../../docs/reference/ledger.md")
}

// TestEarlier opens a ledger that commit 33f1b606 wrote.
func TestEarlier(t *testing.T) {
	packed, err := os.Open("testdata/earlier.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), ledgertest.EarlierStates()); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	l := open(t, file)
	ledgertest.Earlier(t, l, open(t, filepath.Join(t.TempDir(), "empty.db")), l.Read,
		`SELECT json_extract(detail, '$.phase') AS phase FROM promotion_step WHERE json_extract(detail, '$.phase') IS NOT NULL ORDER BY phase`)
}
