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

// pragmas: readers do not wait for the writer, what was committed survives the death of the process,
// and writing takes its lock at the start of a transaction instead of in its middle.
const pragmas = "?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)" +
	"&_pragma=temp_store(MEMORY)&_txlock=immediate"

// Each connection keeps a part of the database in memory, in KiB, for which SQLite wants a negative number.
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

// Open opens the ledger in a file, which it creates or brings to the newest schema where necessary.
func Open(ctx context.Context, file string) (*Ledger, error) {
	// Only the owner may read it: hashes of credentials are in it. SQLite gives the files beside it the same mode.
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
	// One connection writes, so that there is nobody to lock out.
	store := relational.New(&database{db: write}, relational.Options{Read: read, Write: write, Exclusive: "SELECT 1"})
	return &Ledger{store, file}, nil
}

func connect(file, use string, connections int) (*sql.DB, error) {
	// The name is a URI: a question mark or percent sign of the folder's name is to be part of it.
	name := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file)
	db, err := sql.Open("sqlite", "file:"+name+pragmas+use)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// migrate brings a database to the newest schema, of which SQLite itself remembers the number.
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

// Backup implements [ledger.Backuper]: it writes a consistent copy while the ledger is used, without gaps.
func (l *Ledger) Backup(ctx context.Context, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("back up ledger: %w", err)
	}
	// A file that is there is refused by SQLite, unless it is empty.
	copied, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("back up ledger: %w", err)
	}
	if err := copied.Close(); err != nil {
		return fmt.Errorf("back up ledger: %w", err)
	}
	// A connection of its own: those that read may not do this, and the one that writes has other work.
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
