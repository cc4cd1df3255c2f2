// Package open opens a ledger by the name of its file or the URL of its database.
package open

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/postgres"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Error is a ledger that cannot be opened.
type Error struct {
	err  error
	hint string
}

// Error says what failed.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Hint says what to do next.
func (e *Error) Hint() string { return e.hint }

// Ledger opens the ledger at the URL of a PostgreSQL database, or in a file, which is created if necessary.
// Errors are of type [*Error].
func Ledger(ctx context.Context, at string) (ledger.Ledger, error) {
	if err := checkScheme(at); err != nil {
		return nil, err
	}
	if isPostgres(at) {
		l, err := postgres.Open(ctx, at)
		if err != nil {
			// The driver leaves out the password. Redact also covers texts that quote the URL in another form.
			return nil, &Error{errors.New(secret.Redact(err.Error())), "is the database running, and may the user create tables in it?"}
		}
		return l, nil
	}
	l, err := sqlite.Open(ctx, at)
	if err != nil {
		return nil, &Error{err, "is it the file of a ledger, in a folder that you can write to?"}
	}
	return l, nil
}

// Existing opens a ledger like [Ledger], but does not create a file: a misspelled name must not become an empty ledger.
func Existing(ctx context.Context, at string) (ledger.Ledger, error) {
	return existing(ctx, at, "kalypso serve keeps a ledger in its data folder, and kalypso ledger import creates one")
}

// startServer is the hint for commands that change the ledger of a server.
const startServer = "kalypso serve creates its ledger when it starts: start it first, and name the ledger of its configuration, such as " +
	"--ledger kalypso-data/ledger.db or --ledger postgres://user@host/database"

// existing opens a ledger. If the file does not exist, it returns an error that says what to do, which is hint.
func existing(ctx context.Context, at, hint string) (ledger.Ledger, error) {
	if err := checkScheme(at); err != nil {
		return nil, err
	}
	if _, err := os.Stat(at); !isPostgres(at) && errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{
			fmt.Errorf("ledger %q does not exist", at),
			hint,
		}
	}
	return Ledger(ctx, at)
}

// checkScheme refuses URLs of other databases, which would otherwise become odd file names.
func checkScheme(at string) error {
	scheme, _, isURL := strings.Cut(at, "://")
	if !isURL || isPostgres(at) {
		return nil
	}
	return &Error{
		fmt.Errorf("open ledger %q: unknown scheme %q", secret.Redact(at), secret.Line(scheme)),
		"name a file, or postgres://user@host/database",
	}
}

// Shared reports whether several servers can share the ledger at a location: those in databases, not those in files.
func Shared(at string) bool { return isPostgres(at) }

func isPostgres(at string) bool {
	return strings.HasPrefix(at, "postgres://") || strings.HasPrefix(at, "postgresql://")
}
