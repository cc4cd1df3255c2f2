package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// ledgerAcceptCommand is "kalypso ledger accept".
type ledgerAcceptCommand struct {
	t      *terminal.Terminal
	ledger backend.LedgerFlag
	data   string
}

func newLedgerAccept(t *terminal.Terminal) *cobra.Command {
	c := &ledgerAcceptCommand{t: t}
	cmd := &cobra.Command{
		Use:   "accept --ledger LEDGER [--data FOLDER]",
		Short: "Accept a new ledger for a server",
		Long: `Let a server use another ledger than the one that its data folder was used with before.

A server whose ledger was lost or replaced does not know what ran where, what was approved and what was rolled back. It does nothing until
you restore the earlier ledger, or accept another one with this command. Run it where the data folder is. The server can keep running, and starts
working within seconds.

If you have a backup or an export, restore or import it first. With an empty ledger, all running commits are unproven: soaks start with the
first reports, and Kalypso requests checks and approvals again. You have to register the clusters again.`,
		Example: `  kalypso ledger accept --ledger kalypso-data/ledger.db
  kalypso ledger accept --ledger postgres://kalypso@db.example.com/kalypso --data /var/lib/kalypso`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.ledger.Bind(cmd, "the ledger to accept")
	cmd.Flags().StringVar(&c.data, "data", serve.DefaultData, "the data `folder` of the server")
	return cmd
}

func (c *ledgerAcceptCommand) run(cmd *cobra.Command) error {
	at, err := c.ledger.Require(cmd, c.t)
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.data); errors.Is(err, fs.ErrNotExist) {
		return cli.Failed(fmt.Errorf("data folder %q does not exist", c.data), "name the server's with --data")
	}
	return backend.WithLedger(cmd.Context(), open.Existing, at, func(l ledger.Ledger) error {
		return open.Accept(cmd.Context(), l, c.data)
	})
}
