package local

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

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

func openDatabase(ctx context.Context, file string) (*sql.DB, error) {
	if err := sqlitefile.Create(file); err != nil {
		return nil, fmt.Errorf("create database: %w", err)
	}
	db, err := sqlitefile.Open(file, "", 4)
	if err != nil {
		return nil, fmt.Errorf("open database %q: %w", file, err)
	}
	if err := sqlitefile.Migrate(ctx, db, migrations); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare database %q: %w", file, err), db.Close())
	}
	return db, nil
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

// execute runs a statement of queries.sql.
func execute(ctx context.Context, q querier, statement string, args ...any) error {
	_, err := q.ExecContext(ctx, queries.Get(statement), args...)
	return err
}

// row runs a query of queries.sql that has one row.
func row(ctx context.Context, q querier, query string, args ...any) *sql.Row {
	return q.QueryRowContext(ctx, queries.Get(query), args...)
}

// queryAll reads all rows of a query. Without rows it returns an empty list, not nil.
func queryAll[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, queries.Get(query), args...)
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

// affected runs a statement of queries.sql, and reports whether it changed a row.
func affected(ctx context.Context, q querier, statement string, args ...any) (bool, error) {
	result, err := q.ExecContext(ctx, queries.Get(statement), args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
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
