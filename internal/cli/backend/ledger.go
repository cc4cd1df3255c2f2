package backend

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// EnvLedger is the environment variable for --ledger. Unlike the command line, it keeps a password in it private.
const EnvLedger = "KALYPSO_LEDGER"

// LedgerFlag is --ledger.
type LedgerFlag struct{ at string }

// Bind adds the flag to a command.
func (f *LedgerFlag) Bind(cmd *cobra.Command, about string) {
	cmd.Flags().StringVar(&f.at, "ledger", "", about+": a `file or postgres:// URL` (default: $"+EnvLedger+")")
	cli.FlagGroup(cmd, cli.GroupServer, "ledger")
	_ = cmd.MarkFlagFilename("ledger") // the error only says that the flag does not exist
}

// Place returns the flag, or else the environment variable; may be empty.
func (f *LedgerFlag) Place(t *terminal.Terminal) string {
	if f.at != "" {
		return f.at
	}
	return t.Env[EnvLedger]
}

// Require returns the place, or a usage error if there is none.
func (f *LedgerFlag) Require(cmd *cobra.Command, t *terminal.Terminal) (string, error) {
	at := f.Place(t)
	if at == "" {
		return "", cli.Usage(cmd, "which ledger? name it, as in --ledger kalypso-data/ledger.db, or in %s", EnvLedger)
	}
	return at, nil
}

// openFunc opens a ledger: [open.Ledger] or [open.Existing].
type openFunc func(ctx context.Context, at string) (ledger.Ledger, error)

// WithLedger opens a ledger, calls do, and closes it.
func WithLedger(ctx context.Context, open openFunc, at string, do func(ledger.Ledger) error) error {
	l, err := open(ctx, at)
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}
