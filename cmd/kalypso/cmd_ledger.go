package main

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

func newLedger(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "ledger",
		Short: "Export, import, back up and compact the ledger",
		Long: `Export, import, back up and compact the ledger: the history of what should run where, what ran where, and who changed it.

The ledger of a server is an SQLite file or a PostgreSQL database. The server can run while these commands work.
For PostgreSQL, keep the password out of the URL: use PGPASSWORD or ~/.pgpass.`,
		Example: `  kalypso ledger export --ledger kalypso-data/ledger.db > ledger.jsonl
  kalypso ledger import --ledger postgres://kalypso@db.example.com/kalypso ledger.jsonl`,
	})
	cmd.AddCommand(newLedgerExport(t), newLedgerImport(t), newLedgerBackup(t), newLedgerCompact(t), newLedgerAccept(t))
	return cmd
}
