package backend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/postgres"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// EnvLedger is the variable with the place of the ledger, where a password in it is seen by fewer than on a command line.
const EnvLedger = "KALYPSO_LEDGER"

// OpenLedger opens the ledger at a place: the URL of a PostgreSQL database, or a file, which is created where necessary.
func OpenLedger(ctx context.Context, at string) (ledger.Ledger, error) {
	if err := checkPlace(at); err != nil {
		return nil, err
	}
	if isPostgres(at) {
		l, err := postgres.Open(ctx, at)
		if err != nil {
			// The library leaves the password out; whatever quotes the URL another way does not know it either.
			return nil, cli.Failed(errors.New(secret.Redact(err.Error())), "is the database running, and may the user create tables in it?")
		}
		return l, nil
	}
	l, err := sqlite.Open(ctx, at)
	if err != nil {
		return nil, cli.Failed(err, "is it the file of a ledger, in a folder that may be written to?")
	}
	return l, nil
}

// OpenExisting opens a ledger that exists: a name that is misspelled is not to become an empty one.
func OpenExisting(ctx context.Context, at string) (ledger.Ledger, error) {
	if err := checkPlace(at); err != nil {
		return nil, err
	}
	if _, err := os.Stat(at); !isPostgres(at) && errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Failed(fmt.Errorf("there is no ledger %q", at),
			"kalypso serve keeps one in its data folder, and kalypso ledger import makes one")
	}
	return OpenLedger(ctx, at)
}

// checkPlace refuses URLs of anything else, which would be taken for odd names of files.
func checkPlace(at string) error {
	scheme, _, isURL := strings.Cut(at, "://")
	if !isURL || isPostgres(at) {
		return nil
	}
	return cli.Failed(fmt.Errorf("no ledger can be kept at %q", secret.Redact(at)),
		fmt.Sprintf("%s:// is not known; want a file, or postgres://user@host/database", terminal.Printable(scheme)))
}

func isPostgres(at string) bool {
	return strings.HasPrefix(at, "postgres://") || strings.HasPrefix(at, "postgresql://")
}

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

// openFunc opens a ledger: [OpenLedger], or [OpenExisting].
type openFunc func(ctx context.Context, at string) (ledger.Ledger, error)

// WithLedger does something with a ledger, and closes it.
func WithLedger(ctx context.Context, open openFunc, at string, do func(ledger.Ledger) error) error {
	l, err := open(ctx, at)
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}
