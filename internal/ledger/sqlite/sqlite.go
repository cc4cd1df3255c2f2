package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/relational"
	"github.com/kalypso-io/kalypso/internal/sqlfile"
	"github.com/kalypso-io/kalypso/internal/sqlfile/sqlitefile"
)

var (
	//go:embed migrations/*.sql
	migrations embed.FS
	//go:embed queries.sql
	queriesFile string

	queries = sqlfile.ParseQueries(queriesFile)
)

// Each connection has a cache; a negative number is its size in KiB. The writer moves changes to the file when there are 64 MiB of them:
// what changes again and again, as the last reports of clusters do, is moved once.
const (
	writing = "&_pragma=temp_store(MEMORY)&_pragma=cache_size(-65536)&_pragma=wal_autocheckpoint(16384)"
	reading = "&_pragma=temp_store(MEMORY)&_pragma=cache_size(-16384)&_pragma=query_only(1)"
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
	if err := sqlitefile.Create(file); err != nil {
		return nil, fmt.Errorf("create ledger: %w", err)
	}
	write, err := sqlitefile.Open(file, writing, 1)
	if err != nil {
		return nil, fmt.Errorf("open ledger %q: %w", file, err)
	}
	if err := sqlitefile.Migrate(ctx, write, migrations, relational.Migrations); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare ledger %q: %w", file, err), write.Close())
	}
	read, err := sqlitefile.Open(file, reading, readers)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %q: %w", file, err), write.Close())
	}
	batches, err := prepare(ctx, write)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare ledger %q: %w", file, err), write.Close(), read.Close())
	}
	// With one writing connection, no lock is needed.
	store := relational.New(batches, relational.Options{
		Read: read, Write: write, Exclusive: "SELECT 1", Serial: "SELECT 1", Now: "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
		Fence: "SELECT number, replica FROM work_unit WHERE name = $1",
	})
	return &Ledger{store, file}, nil
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
	db, err := sqlitefile.Open(l.file, writing, 1)
	if err != nil {
		return fmt.Errorf("back up ledger: %w", err)
	}
	defer db.Close() //nolint:errcheck // nothing is written to it
	if _, err := db.ExecContext(ctx, "VACUUM INTO $1", file); err != nil {
		return errors.Join(fmt.Errorf("back up ledger to %q: %w", file, err), os.Remove(file))
	}
	return nil
}
