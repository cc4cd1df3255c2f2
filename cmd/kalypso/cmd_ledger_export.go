package main

import (
	"context"
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

// ledgerExportCommand is "kalypso ledger export".
type ledgerExportCommand struct {
	t      *terminal.Terminal
	ledger backend.LedgerFlag
}

func newLedgerExport(t *terminal.Terminal) *cobra.Command {
	c := &ledgerExportCommand{t: t}
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Export a ledger as JSON lines",
		Long: `Export a ledger as JSON lines, one fact each, to stdout or a new file. "kalypso ledger import" adds them to another ledger,
SQLite or PostgreSQL.

Tokens and credentials are exported as hashes. The file still shows who runs what, so only its owner can read it.`,
		Example: `  kalypso ledger export --ledger kalypso-data/ledger.db ledger.jsonl
  kalypso ledger export --ledger kalypso-data/ledger.db | gzip > ledger.jsonl.gz`,
		Args: cli.AtMost("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.ledger.Bind(cmd, "the ledger to export")
	return cmd
}

func (c *ledgerExportCommand) run(cmd *cobra.Command, args []string) error {
	at, err := c.ledger.Require(cmd, c.t)
	if err != nil {
		return err
	}
	return backend.WithLedger(cmd.Context(), open.Existing, at, func(l ledger.Ledger) error {
		if len(args) == 0 || args[0] == "-" {
			return ledger.Export(cmd.Context(), l, c.t.Out)
		}
		return exportTo(cmd.Context(), l, args[0])
	})
}

// exportTo writes a new file, and removes it if the export fails: an incomplete file looks like a complete one.
func exportTo(ctx context.Context, l ledger.Ledger, file string) error {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return cli.Failed(fmt.Errorf("%q exists already", file), "choose another name, or remove it")
	}
	if err != nil {
		return fmt.Errorf("export ledger: %w", err)
	}
	if err := errors.Join(ledger.Export(ctx, l, out), out.Sync(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}
