package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/relational"
)

var (
	//go:embed migrations/*.sql
	migrations embed.FS
	//go:embed queries.sql
	queriesFile string

	queries = relational.ParseQueries(queriesFile)
)

// With pragmas, readers do not wait for the writer, commits survive a crash of the process,
// and a writing transaction takes its lock at the start.
const pragmas = "?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)" +
	"&_pragma=temp_store(MEMORY)&_txlock=immediate"

// Each connection has a cache; a negative number is its size in KiB.
const (
	writing = "&_pragma=cache_size(-65536)"
	reading = "&_pragma=cache_size(-16384)&_pragma=query_only(1)"
	readers = 4
)

// Ledger is a ledger in a file.
type Ledger struct {
	*relational.Store
	file string
}

var (
	_ ledger.Ledger   = (*Ledger)(nil)
	_ ledger.Backuper = (*Ledger)(nil)
)

// Open opens the ledger in a file. It creates the file and migrates the schema as needed.
func Open(ctx context.Context, file string) (*Ledger, error) {
	// Only the owner may read it, because it has hashes of credentials. SQLite uses the same mode for the files beside it.
	created, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create ledger: %w", err)
	}
	if err := created.Close(); err != nil {
		return nil, fmt.Errorf("create ledger: %w", err)
	}
	write, err := connect(file, writing, 1)
	if err != nil {
		return nil, fmt.Errorf("open ledger %q: %w", file, err)
	}
	if err := migrate(ctx, write); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare ledger %q: %w", file, err), write.Close())
	}
	read, err := connect(file, reading, readers)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %q: %w", file, err), write.Close())
	}
	// With one writing connection, no lock is needed.
	store := relational.New(&database{db: write}, relational.Options{Read: read, Write: write, Exclusive: "SELECT 1"})
	return &Ledger{store, file}, nil
}

func connect(file, use string, connections int) (*sql.DB, error) {
	// The name becomes a URI: escape its special characters.
	name := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file)
	db, err := sql.Open("sqlite", "file:"+name+pragmas+use)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// migrate brings a database to the newest schema. Its version is SQLite's user_version.
func migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after the commit
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version, err = relational.Migrate(ctx, tx, migrations, version); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "PRAGMA user_version = "+strconv.Itoa(version)); err != nil {
		return err
	}
	return tx.Commit()
}

// Backup implements [ledger.Backuper] with a consistent copy.
func (l *Ledger) Backup(ctx context.Context, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("back up ledger: %w", err)
	}
	// SQLite accepts a file only if it is empty.
	copied, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("back up ledger: %w", err)
	}
	if err := copied.Close(); err != nil {
		return fmt.Errorf("back up ledger: %w", err)
	}
	// Readers may not do this, and the writer should not wait: use a separate connection.
	db, err := connect(l.file, writing, 1)
	if err != nil {
		return fmt.Errorf("back up ledger: %w", err)
	}
	defer db.Close() //nolint:errcheck // nothing is written to it
	if _, err := db.ExecContext(ctx, "VACUUM INTO $1", file); err != nil {
		return errors.Join(fmt.Errorf("back up ledger to %q: %w", file, err), os.Remove(file))
	}
	return nil
}
