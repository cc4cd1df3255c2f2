package local

import (
	"context"
	"database/sql"
	_ "embed" // for the schema
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver
)

//go:embed schema.sql
var schema string

// schemaVersion is the user_version of databases with this schema.
const schemaVersion = 1

// pragmas let readers proceed beside a writer, keep committed data when the process dies, and make writers wait
// at the start of a transaction instead of failing during it.
const pragmas = "?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_txlock=immediate"

func openDatabase(ctx context.Context, file string) (*sql.DB, error) {
	// Only the owner can read it, because it holds secrets of webhooks. SQLite gives its other files the same mode.
	created, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create database: %w", err)
	}
	if err := created.Close(); err != nil {
		return nil, fmt.Errorf("create database: %w", err)
	}
	// The name is a URI, so special characters in the folder's name must be escaped.
	name := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file)
	db, err := sql.Open("sqlite", "file:"+name+pragmas)
	if err != nil {
		return nil, fmt.Errorf("open database %q: %w", file, err)
	}
	db.SetMaxOpenConns(4)
	if err := prepare(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare database %q: %w", file, err), db.Close())
	}
	return db, nil
}

// prepare creates the tables in a new database. It refuses the database of a newer program.
func prepare(ctx context.Context, db *sql.DB) error {
	return inTransaction(ctx, db, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		switch {
		case version == schemaVersion:
			return nil
		case version > schemaVersion:
			return fmt.Errorf("schema version %d is newer than this program, which knows up to %d: use a newer one", version, schemaVersion)
		}
		_, err := tx.ExecContext(ctx, schema+"PRAGMA user_version = "+strconv.Itoa(schemaVersion))
		return err
	})
}

// inTransaction commits the changes of do, or rolls them back after an error.
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

// scanner is a row of a result.
type scanner interface{ Scan(into ...any) error }

// queryAll reads all rows of a query. Without rows it returns an empty list, not nil.
func queryAll[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
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

// microseconds converts a time to what the database stores; timeOf converts it back.
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
