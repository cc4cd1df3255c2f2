package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger/ledgertest"
)

func BenchmarkLedger(b *testing.B) {
	ledgertest.Bench(b, open(b, filepath.Join(b.TempDir(), "ledger.db")).Store)
}
