package postgres_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger/ledgertest"
	"github.com/kalypso-io/kalypso/internal/ledger/postgrestest"
)

func BenchmarkLedger(b *testing.B) {
	ledgertest.Bench(b, open(b, postgrestest.Start(b).Create(b, "bench")).Store)
}
