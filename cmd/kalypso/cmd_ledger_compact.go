package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
)

// ledgerCompactCommand is "kalypso ledger compact".
type ledgerCompactCommand struct {
	t         *terminal.Terminal
	ledger    backend.LedgerFlag
	retention time.Duration
	output    *cli.Output
}

func newLedgerCompact(t *terminal.Terminal) *cobra.Command {
	c := &ledgerCompactCommand{t: t}
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Delete redundant and old records from a ledger",
		Long: `Delete redundant records: observations older than a day that are equal to the one before and the one after.
Query results stay the same. If a report arrives more than a day late, less is known about the time around it than without compaction.

With --retention, delete the older history of clusters, too. The ledger keeps what each reconciler ran at that time, and its last ten revisions,
because promotion depends on them. It also keeps commits, promotions, pull requests and the audit trail. Older deployments and outages are not
counted any more.

A server does both every six hours, with the retention in its configuration. The file of an SQLite ledger does not become smaller, but its
free space is used before it grows. "kalypso ledger backup" writes a small copy.`,
		Example: `  kalypso ledger compact --ledger kalypso-data/ledger.db
  kalypso ledger compact --ledger postgres://kalypso@db.example.com/kalypso --retention 8760h`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.ledger.Bind(cmd, "the ledger to compact")
	cmd.Flags().DurationVar(&c.retention, "retention", 0, "delete what clusters ran before this `duration`, at least 24h (default: keep it)")
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(compacted{})
	return cmd
}

// compacted is the result of the command.
type compacted struct {
	// Deleted is the number of rows.
	Deleted int64 `json:"deleted"`
}

func (c *ledgerCompactCommand) run(cmd *cobra.Command) error {
	if cmd.Flags().Changed("retention") && c.retention < ledger.MinRetention {
		return cli.Usage(cmd, "--retention %s is less than 24h", c.retention)
	}
	at, err := c.ledger.Require(cmd, c.t)
	if err != nil {
		return err
	}
	var result compacted
	err = backend.WithLedger(cmd.Context(), open.Existing, at, func(l ledger.Ledger) error {
		result.Deleted, err = ledger.Retain(cmd.Context(), l, c.retention, time.Now())
		return err
	})
	if err != nil {
		return err
	}
	return c.output.Write(c.t.Out, result, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "rows deleted: %d\n", result.Deleted)
		return err
	})
}
