package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/relational"
	"github.com/kalypso-io/kalypso/internal/sqlfile"
)

var (
	//go:embed migrations/*.sql
	migrations embed.FS
	//go:embed queries.sql
	queriesFile string

	queries = sqlfile.ParseQueries(queriesFile)
)

// The keys of advisory locks, the same for all processes.
const (
	migrationLock  = 0x6b616c79_01
	compactionLock = 0x6b616c79_02 // shared by batches
	replicaLock    = 0x6b616c79_03
)

// writers is how many batches of reports run at the same time: while the database stores one, the program prepares another.
const writers = 2

// noPause ends the transaction of a server that is paused, or gone without closing its connections: others wait for its locks.
const noPause = "set_config('idle_in_transaction_session_timeout', '2s', true)"

// Ledger is a ledger in a PostgreSQL database.
type Ledger struct {
	*relational.Store
	pool *pgxpool.Pool
}

var _ ledger.Ledger = (*Ledger)(nil)

// Open opens the ledger in a database and migrates its schema as needed.
// The URL has the form of libpq; its search_path names the schema of the ledger. change, which is optional, limits connections further.
func Open(ctx context.Context, url string, change ...func(*pgxpool.Config)) (*Ledger, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The error quotes the URL, without its password.
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	// The queries are short, and compiling one takes longer than running it.
	config.ConnConfig.RuntimeParams["jit"] = "off"
	for _, c := range change {
		c(config)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	db := stdlib.OpenDBFromPool(pool)
	if err := migrate(ctx, db); err != nil {
		pool.Close()
		return nil, fmt.Errorf("prepare ledger: %w", err)
	}
	store := relational.New(&database{pool}, relational.Options{
		Read: db, Write: db, Writers: writers, Lock: " FOR UPDATE",
		Exclusive: fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", compactionLock),
		Serial:    fmt.Sprintf("SELECT %s, pg_advisory_xact_lock(%d)", noPause, replicaLock),
		Now:       "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint",
		Fence:     "WITH limited AS MATERIALIZED (SELECT " + noPause + ") SELECT number, replica FROM work_unit WHERE name = $1 AND EXISTS (SELECT 1 FROM limited) FOR SHARE",
	})
	return &Ledger{store, pool}, nil
}

// Close implements [ledger.Ledger].
func (l *Ledger) Close() error {
	err := l.Store.Close()
	l.pool.Close()
	return err
}

const (
	createVersion = `CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)`
	readVersion   = `SELECT COALESCE(MAX(version), 0) FROM schema_version`
	insertVersion = `INSERT INTO schema_version (version) VALUES ($1)`
)

// migrate brings a database to the newest schema. Its version is in the table schema_version.
func migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := migrateIn(ctx, tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func migrateIn(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", migrationLock)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, createVersion); err != nil {
		return err
	}
	var before int
	if err := tx.QueryRowContext(ctx, readVersion).Scan(&before); err != nil {
		return err
	}
	after, err := sqlfile.Migrate(ctx, tx, before, migrations, relational.Migrations)
	if err != nil || after == before {
		return err
	}
	_, err = tx.ExecContext(ctx, insertVersion, after)
	return err
}
