package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/ledgertest"
)

func BenchmarkLedger(b *testing.B) {
	ledgertest.Bench(b, open(b, filepath.Join(b.TempDir(), "ledger.db")).Store)
}

// TestFill: the fleet of the benchmarks fits the schema, and the adapter reads it.
func TestFill(t *testing.T) {
	t.Setenv("LEDGER_CLUSTERS", "2")
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	clusters := ledgertest.Fill(t, l.Store)
	found, err := l.Clusters(t.Context(), ledger.ClusterQuery{Environment: "prod"})
	if err != nil || len(found) != clusters || clusters != 2 {
		t.Errorf("got %d clusters, %v, want %d", len(found), err, clusters)
	}
}

func BenchmarkYear(b *testing.B) {
	file := filepath.Join(b.TempDir(), "ledger.db")
	ledgertest.Year(b, open(b, file).Store, func() int64 { return sizeOf(file) })
}

func BenchmarkHour(b *testing.B) {
	file := filepath.Join(b.TempDir(), "ledger.db")
	ledgertest.Hour(b, open(b, file).Store, func() int64 { return sizeOf(file) })
}

// sizeOf returns the bytes of a ledger.
func sizeOf(file string) (bytes int64) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(file + suffix); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}
