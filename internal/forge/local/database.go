package local

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver
)

//go:embed migrations/*.sql
var migrations embed.FS

// pragmas: readers do not wait for the writer, what was committed survives the death of the process, and writers wait
// for each other at the start of a transaction instead of failing in its middle.
const pragmas = "?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_txlock=immediate"

func openDatabase(ctx context.Context, file string) (*sql.DB, error) {
	// Only the owner may read it: keys of hooks are in it. SQLite gives the files beside it the same mode.
	created, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create database: %w", err)
	}
	if err := created.Close(); err != nil {
		return nil, fmt.Errorf("create database: %w", err)
	}
	// The name is a URI: a question mark or percent sign of the folder's name is to be part of it.
	name := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file)
	db, err := sql.Open("sqlite", "file:"+name+pragmas)
	if err != nil {
		return nil, fmt.Errorf("open database %q: %w", file, err)
	}
	db.SetMaxOpenConns(4)
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare database %q: %w", file, err), db.Close())
	}
	return db, nil
}

// migrate brings a database to the newest schema, of which SQLite itself remembers the number.
// One that a newer program made is refused.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	return inTransaction(ctx, db, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if version > len(files) {
			return fmt.Errorf("it has version %d, and this program knows up to %d: use a newer one", version, len(files))
		}
		for _, file := range files[version:] {
			script, err := migrations.ReadFile(file)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, string(script)); err != nil {
				return fmt.Errorf("apply %s: %w", path.Base(file), err)
			}
		}
		_, err := tx.ExecContext(ctx, "PRAGMA user_version = "+strconv.Itoa(len(files)))
		return err
	})
}

// inTransaction does something completely or not at all.
func inTransaction(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// querier is a database or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scanner is a row.
type scanner interface{ Scan(into ...any) error }

// queryAll reads all rows of a query; no rows are an empty list.
func queryAll[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	all := []T{}
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

func scanText(s scanner) (text string, err error) {
	err = s.Scan(&text)
	return text, err
}

// microseconds is a time as the database has it; timeOf is the way back.
func microseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
