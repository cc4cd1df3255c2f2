package postgres_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/ledgertest"
	"github.com/kalypso-io/kalypso/internal/ledger/postgres"
	"github.com/kalypso-io/kalypso/internal/ledger/postgrestest"
)

func open(tb testing.TB, url string) *postgres.Ledger {
	tb.Helper()
	l, err := postgres.Open(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

func TestLedger(t *testing.T) {
	server := postgrestest.Start(t)
	var n atomic.Int32
	ledgertest.Run(t, func(t *testing.T) ledger.Ledger {
		return open(t, server.Create(t, fmt.Sprintf("ledger_%d", n.Add(1))))
	})
}
