package relational

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Options hold what differs between databases.
type Options struct {
	// Read and Write are connections to the same database. Write may be limited to one connection.
	Read, Write *sql.DB // required
	// Writers is how many batches may run at the same time; 0 means one.
	Writers int
	// Lock is appended to a query to lock its rows until the transaction ends; empty if there is only one writer.
	Lock string
	// Exclusive is a statement that blocks batches until the transaction ends.
	Exclusive string
	// Serial is a statement that blocks itself in other transactions until the transaction ends.
	Serial string
	// Now is an expression for the time of the database's clock, in microseconds.
	Now string
	// Fence is a query for the number and the replica of a unit, which blocks changes of the unit until the transaction ends.
	Fence string
}

// Store is a ledger in a relational database.
type Store struct {
	Options
	database Database
	natural  naturalNames
	members  memberCounts

	requests chan *request
	stop     context.CancelFunc
	stopped  chan struct{}
	closing  sync.Once
}

var _ ledger.Ledger = (*Store)(nil)

// New starts a store on a database. Close closes the database.
func New(database Database, o Options) *Store {
	ctx, stop := context.WithCancel(context.Background())
	s := &Store{Options: o, database: database, requests: make(chan *request), stop: stop, stopped: make(chan struct{})}
	var writing sync.WaitGroup
	for range max(o.Writers, 1) {
		writing.Go(func() { s.writeQueue(ctx) })
	}
	go func() {
		writing.Wait()
		close(s.stopped)
	}()
	return s
}

// Close stops the writers and closes the database.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		s.stop()
		<-s.stopped
		err = s.Write.Close()
		if s.Read != s.Write {
			err = errors.Join(err, s.Read.Close())
		}
	})
	return err
}

// inTransaction calls do in a transaction and rolls back if it fails.
func (s *Store) inTransaction(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.Write.BeginTx(ctx, nil)
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
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scanner is a row.
type scanner interface{ Scan(into ...any) error }

// query returns all rows. No rows are not an error.
func query[T any](ctx context.Context, q querier, scan func(scanner) (T, error), text string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err has it
	var all []T
	var full [][]T // growing a long slice would copy it again and again
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		if len(all) == rowsTogether {
			full, all = append(full, all), make([]T, 0, rowsTogether)
		}
		all = append(all, one)
	}
	if full != nil {
		all = slices.Concat(append(full, all)...)
	}
	return all, rows.Err()
}

// rowsTogether is how many rows are kept in one slice while they are read.
const rowsTogether = 4096

// read returns all rows of a query on s.Read. Errors name what was read.
func read[T any](ctx context.Context, s *Store, what string, scan func(scanner) (T, error), text string, args ...any) ([]T, error) {
	all, err := query(ctx, s.Read, scan, text, args...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return all, nil
}

// ensure returns the id of a row and inserts the row if it does not exist.
// Both statements take the same arguments; insert does nothing if the row exists.
func ensure(ctx context.Context, tx *sql.Tx, insert, find string, args ...any) (id int64, err error) {
	err = tx.QueryRowContext(ctx, find, args...).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	if _, err := tx.ExecContext(ctx, insert, args...); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, find, args...).Scan(&id)
	return id, err
}

// micros converts a time to a value of the database; timeOf converts it back.
func micros(t time.Time) int64 {
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

// microTime scans a column of microseconds.
type microTime time.Time

// Scan implements [sql.Scanner].
func (t *microTime) Scan(value any) error {
	var n sql.NullInt64
	if err := n.Scan(value); err != nil {
		return err
	}
	*t = microTime(timeOf(n.Int64))
	return nil
}

// never is the end of periods that have not ended.
const never = int64(1<<63 - 1)

// checkText returns an error for text that some databases cannot store.
func checkText(what string, texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fmt.Errorf("%s: %w: %q is not valid UTF-8 text", what, ledger.ErrInvalid, text)
		}
	}
	return nil
}

// require returns an error if a name is empty.
func require(what string, names ...string) error {
	for _, name := range names {
		if name == "" {
			return fmt.Errorf("%s: %w: a name is missing", what, ledger.ErrInvalid)
		}
	}
	return checkText(what, names...)
}

// where collects the conditions of a query and their arguments.
type where struct {
	conditions []string
	args       []any
}

// add adds a condition. Each ? in it stands for the argument.
func (w *where) add(condition string, arg any) {
	w.conditions = append(w.conditions, strings.ReplaceAll(condition, "?", w.arg(arg)))
}

// arg adds an argument and returns its placeholder.
func (w *where) arg(arg any) string {
	w.args = append(w.args, arg)
	return fmt.Sprintf("$%d", len(w.args))
}

// text adds a condition if the argument is not empty.
func (w *where) text(condition, arg string) {
	if arg != "" {
		w.add(condition, arg)
	}
}

// repository adds a condition on a repository, in any spelling, if the URL is not empty.
func (w *where) repository(condition, url string) { w.text(condition, ledger.CleanRepository(url)) }

// workload adds conditions on the columns of a table; table is its prefix.
func (w *where) workload(table, environment, workload, workspace string) {
	w.text(table+"environment = ?", environment)
	w.text(table+"workload = ?", workload)
	w.text(table+"workspace = ?", workspace)
}

// span adds the condition that a column is within a period.
func (w *where) span(column string, from, to time.Time) {
	if !from.IsZero() {
		w.add(column+" >= ?", micros(from))
	}
	if !to.IsZero() {
		w.add(column+" < ?", micros(to))
	}
}

// String returns the WHERE clause.
func (w *where) String() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conditions, " AND ")
}

// limit returns a LIMIT clause; 0 means all.
func limit(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" LIMIT %d", n)
}
