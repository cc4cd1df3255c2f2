package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/ledger/postgrestest"
)

// TestLedgerInPostgreSQL moves a ledger from a file to a database and back, and asks it there.
func TestLedgerInPostgreSQL(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	url := server.Create(t, "kalypso")
	file := filepath.Join(t.TempDir(), "ledger.db")
	command := func(ledger, stdin string, args ...string) string {
		t.Helper()
		var out, complaints bytes.Buffer
		if code := run(t.Context(), args, []string{backend.EnvLedger + "=" + ledger}, strings.NewReader(stdin), &out, &complaints); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, &complaints)
		}
		return out.String()
	}
	command(url, facts(t), "ledger", "import")
	exported := command(url, "", "ledger", "export")
	command(file, exported, "ledger", "import")
	if diff := cmp.Diff(exported, command(file, "", "ledger", "export")); diff != "" {
		t.Errorf("(-database +file):\n%s", diff)
	}
	for _, args := range [][]string{{"status"}, {"compare", "dev", "prod"}, {"cluster", "list"}} {
		if diff := cmp.Diff(command(url, "", args...), command(file, "", args...)); diff != "" {
			t.Errorf("%v (-database +file):\n%s", args, diff)
		}
	}
	var out, complaints bytes.Buffer
	if code := run(t.Context(), []string{"ledger", "backup", "copy.db", "--ledger", url}, nil, nil, &out, &complaints); code != 1 || !strings.Contains(complaints.String(), "use pg_dump") {
		t.Errorf("backup: exit code %d, %s", code, &complaints)
	}
}
