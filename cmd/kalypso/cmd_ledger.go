package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/terminal"
)

// newLedger is "kalypso ledger": what the owner of a ledger does with it as a whole.
func newLedger(t *terminal.Terminal) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "ledger",
		Short: "Export, import and back up the ledger",
		Long: `Export, import and back up the ledger: the memory of what ran where, what should, and who moved it there.

A ledger is a file of SQLite, or a PostgreSQL database. kalypso serve keeps one, and may go on while these commands work.
For PostgreSQL the password can stay out of the URL: PGPASSWORD and ~/.pgpass are read.`,
		Example: `  kalypso ledger export --ledger kalypso-data/ledger.db > ledger.jsonl
  kalypso ledger import --ledger postgres://kalypso@db.example.com/kalypso ledger.jsonl`,
	})
	cmd.AddCommand(newLedgerExport(t), newLedgerImport(t), newLedgerBackup(t))
	return cmd
}

// openFunc opens a ledger: [openLedger], or [openLedgerThere].
type openFunc func(ctx context.Context, at string) (ledger.Ledger, error)

// withLedger does something with a ledger, and closes it.
func withLedger(ctx context.Context, open openFunc, at string, do func(ledger.Ledger) error) error {
	l, err := open(ctx, at)
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}
