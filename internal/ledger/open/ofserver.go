package open

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// OfServer opens the existing ledger of a server. A file that does not exist is an error, and so is a file in the data folder of a server that
// uses another ledger, such as one in PostgreSQL: the server would never read what is written to it.
func OfServer(ctx context.Context, at string) (ledger.Ledger, error) {
	if err := checkScheme(at); err != nil {
		return nil, err
	}
	if isPostgres(at) {
		return Ledger(ctx, at)
	}
	known, err := os.ReadFile(filepath.Join(filepath.Dir(at), identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return existing(ctx, at, startServer)
	}
	if err != nil {
		return nil, fmt.Errorf("read which ledger the server uses: %w", err)
	}
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
		return nil, notOfServer(at)
	}
	l, err := Ledger(ctx, at)
	if err != nil {
		return nil, err
	}
	identity, err := l.Identity(ctx)
	if err == nil && identity != strings.TrimSpace(string(known)) {
		err = notOfServer(at)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func notOfServer(at string) error {
	return &Error{
		fmt.Errorf("%q is not the ledger of the server whose data folder it is in", at),
		"use the ledger of the server's configuration, such as --ledger postgres://user@host/database; if that ledger was lost, kalypso ledger accept makes this one the server's",
	}
}
