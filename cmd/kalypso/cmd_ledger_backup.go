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
		Short: "Copy the ledger in a file to another file, while it is used",
		Long: `Copy the ledger in a file to another file, while it is used. The copy is consistent and a ledger itself: to restore it,
put it into the place of the other one while no server runs. The folder of the copy is made where it is missing.

A PostgreSQL database is backed up with its own tools, such as pg_dump.`,
		Example: `  kalypso ledger backup --ledger kalypso-data/ledger.db backup/ledger-monday.db`,
		Args:    cli.Exactly("FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.ledger.Bind(cmd, "the ledger to back up")
	return cmd
}

func (c *ledgerBackupCommand) run(cmd *cobra.Command, file string) error {
	at, err := c.ledger.Want(cmd, c.t)
	if err != nil {
		return err
	}
	return backend.WithLedger(cmd.Context(), backend.OpenExisting, at, func(l ledger.Ledger) error {
		b, ok := l.(ledger.Backuper)
		if !ok {
			return cli.Failed(errors.New("this ledger cannot copy itself to a file"), "use pg_dump, or kalypso ledger export")
		}
		err := b.Backup(cmd.Context(), file)
		if errors.Is(err, os.ErrExist) {
			return cli.Failed(fmt.Errorf("%q exists already", file), "choose another name: a backup never replaces another one")
		}
		return err
	})
}
