package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/postgres"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/secret"
	"github.com/kalypso-io/kalypso/internal/terminal"
)

// envLedger is the variable with the place of the ledger, where a password in it is seen by fewer than on a command line.
const envLedger = "KALYPSO_LEDGER"

// openLedger opens the ledger at a place: the URL of a PostgreSQL database, or a file, which is created where necessary.
func openLedger(ctx context.Context, at string) (ledger.Ledger, error) {
	if err := checkPlace(at); err != nil {
		return nil, err
	}
	if isPostgres(at) {
		l, err := postgres.Open(ctx, at)
		if err != nil {
			// The library leaves the password out; whatever quotes the URL another way does not know it either.
			return nil, failed(errors.New(secret.Redact(err.Error())), "is the database running, and may the user create tables in it?")
		}
		return l, nil
	}
	l, err := sqlite.Open(ctx, at)
	if err != nil {
		return nil, failed(err, "is it the file of a ledger, in a folder that may be written to?")
	}
	return l, nil
}

// openLedgerThere opens a ledger that exists: a name that is misspelled is not to become an empty one.
func openLedgerThere(ctx context.Context, at string) (ledger.Ledger, error) {
	if err := checkPlace(at); err != nil {
		return nil, err
	}
	if _, err := os.Stat(at); !isPostgres(at) && errors.Is(err, fs.ErrNotExist) {
		return nil, failed(fmt.Errorf("there is no ledger %q", at),
			"kalypso serve keeps one in its data folder, and kalypso ledger import makes one")
	}
	return openLedger(ctx, at)
}

// checkPlace refuses URLs of anything else, which would be taken for odd names of files.
func checkPlace(at string) error {
	scheme, _, isURL := strings.Cut(at, "://")
	if !isURL || isPostgres(at) {
		return nil
	}
	return failed(fmt.Errorf("no ledger can be kept at %q", secret.Redact(at)),
		fmt.Sprintf("%s:// is not known; want a file, or postgres://user@host/database", terminal.Printable(scheme)))
}

func isPostgres(at string) bool {
	return strings.HasPrefix(at, "postgres://") || strings.HasPrefix(at, "postgresql://")
}

// ledgerFlag is --ledger.
type ledgerFlag struct{ at string }

// bind adds the flag to a command.
func (f *ledgerFlag) bind(cmd *cobra.Command, about string) {
	cmd.Flags().StringVar(&f.at, "ledger", "", about+": a `file or postgres:// URL` (default: $"+envLedger+")")
	_ = cmd.MarkFlagFilename("ledger") // the error only says that the flag does not exist
}

// place is what was given, or what the environment says; empty when neither does.
func (f *ledgerFlag) place(t *terminal.Terminal) string {
	if f.at != "" {
		return f.at
	}
	return t.Env[envLedger]
}

// want is for commands that work on a ledger and nothing else.
func (f *ledgerFlag) want(cmd *cobra.Command, t *terminal.Terminal) (string, error) {
	at := f.place(t)
	if at == "" {
		return "", usage(cmd, "which ledger? name it, as in --ledger kalypso-data/ledger.db, or in %s", envLedger)
	}
	return at, nil
}
