package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
)

// ledgerBackupCommand is "kalypso ledger backup".
type ledgerBackupCommand struct {
	t      *terminal.Terminal
	ledger backend.LedgerFlag
}

func newLedgerBackup(t *terminal.Terminal) *cobra.Command {
	c := &ledgerBackupCommand{t: t}
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up an SQLite ledger to a file",
		Long: `Back up an SQLite ledger to a new file, while a server uses it. The backup is a consistent ledger: to restore it, stop the server
and replace the ledger's file. Missing folders are created.

Back up a PostgreSQL database with its own tools, such as pg_dump.`,
		Example: `  kalypso ledger backup --ledger kalypso-data/ledger.db backup/ledger-monday.db`,
		Args:    cli.Exactly("FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.ledger.Bind(cmd, "the ledger to back up")
	return cmd
}

func (c *ledgerBackupCommand) run(cmd *cobra.Command, file string) error {
	at, err := c.ledger.Require(cmd, c.t)
	if err != nil {
		return err
	}
	return backend.WithLedger(cmd.Context(), open.Existing, at, func(l ledger.Ledger) error {
		b, ok := l.(ledger.Backuper)
		if !ok {
			return cli.Failed(errors.New("only an SQLite ledger can be backed up to a file"), "use pg_dump, or kalypso ledger export")
		}
		err := b.Backup(cmd.Context(), file)
		if errors.Is(err, os.ErrExist) {
			return cli.Failed(fmt.Errorf("%q exists already", file), "choose another name; a backup never overwrites a file")
		}
		return err
	})
}
