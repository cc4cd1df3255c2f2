package backend

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// EnvLedger is the variable with the place of the ledger, where a password in it is seen by fewer than on a command line.
const EnvLedger = "KALYPSO_LEDGER"

// LedgerFlag is --ledger.
type LedgerFlag struct{ at string }

// Bind adds the flag to a command.
func (f *LedgerFlag) Bind(cmd *cobra.Command, about string) {
	cmd.Flags().StringVar(&f.at, "ledger", "", about+": a `file or postgres:// URL` (default: $"+EnvLedger+")")
	_ = cmd.MarkFlagFilename("ledger") // the error only says that the flag does not exist
}

// Place is what was given, or what the environment says; empty when neither does.
func (f *LedgerFlag) Place(t *terminal.Terminal) string {
	if f.at != "" {
		return f.at
	}
	return t.Env[EnvLedger]
}

// Want is for commands that work on a ledger and nothing else.
func (f *LedgerFlag) Want(cmd *cobra.Command, t *terminal.Terminal) (string, error) {
	at := f.Place(t)
	if at == "" {
		return "", cli.Usage(cmd, "which ledger? name it, as in --ledger kalypso-data/ledger.db, or in %s", EnvLedger)
	}
	return at, nil
}

// openFunc opens a ledger: [open.Ledger] or [open.Existing].
type openFunc func(ctx context.Context, at string) (ledger.Ledger, error)

// WithLedger does something with a ledger, and closes it.
func WithLedger(ctx context.Context, open openFunc, at string, do func(ledger.Ledger) error) error {
	l, err := open(ctx, at)
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}
