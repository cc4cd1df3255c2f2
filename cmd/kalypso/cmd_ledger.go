package main

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// newLedger is "kalypso ledger": what the owner of a ledger does with it as a whole.
func newLedger(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
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
