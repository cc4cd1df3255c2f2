// Package sqlitefile opens SQLite files. It is apart from package sqlfile, because SQLite makes a program much larger, also one that keeps its data
// elsewhere.
package sqlitefile

import (
	"context"
	"database/sql"
	"io/fs"
	"os"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/kalypso-io/kalypso/internal/sqlfile"
)

// With pragmas, readers do not wait for the writer, commits survive a crash of the process,
// and a writing transaction takes its lock at the start.
const pragmas = "?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_txlock=immediate"

// Create creates a file if it does not exist. Only the owner can read it; SQLite uses the same mode for the files beside it.
func Create(file string) error {
	created, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return created.Close()
}

// Open opens a file with a number of connections. options are more parameters of its URI, such as "&_pragma=query_only(1)".
func Open(file, options string, connections int) (*sql.DB, error) {
	// The name becomes a URI: escape its special characters.
	name := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file)
	db, err := sql.Open("sqlite", "file:"+name+pragmas+options)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// Migrate is [sqlfile.Migrate] for a database whose version is SQLite's user_version.
func Migrate(ctx context.Context, db *sql.DB, sources ...fs.FS) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after the commit
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version, err = sqlfile.Migrate(ctx, tx, version, sources...); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "PRAGMA user_version = "+strconv.Itoa(version)); err != nil {
		return err
	}
	return tx.Commit()
}
