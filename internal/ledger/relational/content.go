package relational

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// content is a table with the content of commits: rows that were added by one commit and removed by another.
type content[T comparable] struct {
	table   string
	columns string
	values  func(T) []any
	scan    func(scanner) (T, error)
	compare func(a, b T) int
}

var assignments = content[ledger.Assignment]{
	table:   "assignment",
	columns: "cluster_type, target, workload, workspace, environment",
	values: func(a ledger.Assignment) []any {
		return []any{a.ClusterType, a.Target, a.Workload, a.Workspace, a.Environment}
	},
	scan: func(row scanner) (a ledger.Assignment, err error) {
		err = row.Scan(&a.ClusterType, &a.Target, &a.Workload, &a.Workspace, &a.Environment)
		return a, err
	},
	compare: func(a, b ledger.Assignment) int {
		key := func(a ledger.Assignment) string {
			return strings.Join([]string{a.ClusterType, a.Target, a.Workload, a.Environment}, "\x00")
		}
		return strings.Compare(key(a), key(b))
	},
}

var versions = content[ledger.Version]{
	table:   "version",
	columns: versionColumns,
	values: func(v ledger.Version) []any {
		return []any{v.Workload, v.Workspace, v.Target, v.Environment, v.Path, v.Version, v.Build, v.Commit, micros(v.Built)}
	},
	scan: func(row scanner) (v ledger.Version, err error) {
		err = row.Scan(versionFields(&v)...)
		return v, err
	},
	compare: compareVersions,
}

const versionColumns = "workload, workspace, target, environment, path, version, build, commit_sha, built"

// versionFields returns the scan targets for versionColumns.
func versionFields(v *ledger.Version) []any {
	return []any{&v.Workload, &v.Workspace, &v.Target, &v.Environment, &v.Path, &v.Version, &v.Build, &v.Commit, (*microTime)(&v.Built)}
}

func compareVersions(a, b ledger.Version) int {
	key := func(v ledger.Version) string {
		return strings.Join([]string{v.Environment, v.Workload, v.Target, v.Path, v.Version, v.Build, v.Commit}, "\x00")
	}
	return strings.Compare(key(a), key(b))
}

// replace makes rows the content from a commit on: it closes rows that are missing and opens new ones.
func (c content[T]) replace(ctx context.Context, tx *sql.Tx, branch, number int64, rows []T) error {
	wanted := make(map[T]bool, len(rows))
	for _, row := range rows {
		wanted[row] = true
	}
	var before []T
	if number > 1 {
		var err error
		if before, err = c.at(ctx, tx, branch, number-1); err != nil {
			return err
		}
	}
	before = slices.DeleteFunc(before, func(row T) bool {
		stays := wanted[row]
		delete(wanted, row)
		return stays
	})
	for some := range slices.Chunk(before, 500) {
		if err := c.closeRows(ctx, tx, branch, number, some); err != nil {
			return err
		}
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(row T) bool {
		isNew := wanted[row]
		delete(wanted, row)
		return !isNew
	})
	for some := range slices.Chunk(rows, 500) {
		if err := c.open(ctx, tx, branch, number, some); err != nil {
			return err
		}
	}
	return nil
}

func (c content[T]) open(ctx context.Context, tx *sql.Tx, branch, number int64, rows []T) error {
	w := where{args: []any{branch, number, never}}
	_, err := tx.ExecContext(ctx, "INSERT INTO "+c.table+" (branch_id, opened, closed, "+c.columns+") VALUES "+c.tuples(&w, "$1, $2, $3, ", rows), w.args...)
	return err
}

// closeRows closes many rows in one statement, because finding each on its own is slow in large branches.
func (c content[T]) closeRows(ctx context.Context, tx *sql.Tx, branch, number int64, rows []T) error {
	w := where{args: []any{number, branch, never}}
	_, err := tx.ExecContext(ctx, "UPDATE "+c.table+" SET closed = $1 WHERE branch_id = $2 AND closed = $3 AND ("+c.columns+") IN (VALUES "+
		c.tuples(&w, "", rows)+")", w.args...)
	return err
}

// tuples returns rows as VALUES of a statement, each with the shared values in front.
func (c content[T]) tuples(w *where, shared string, rows []T) string {
	tuples := make([]string, len(rows))
	for i, row := range rows {
		places := make([]string, 0, 9)
		for _, value := range c.values(row) {
			place := w.arg(value)
			if _, isNumber := value.(int64); isNumber {
				place = "CAST(" + place + " AS BIGINT)" // PostgreSQL assumes text otherwise
			}
			places = append(places, place)
		}
		tuples[i] = "(" + shared + strings.Join(places, ", ") + ")"
	}
	return strings.Join(tuples, ", ")
}

// at returns the content at a commit, sorted.
func (c content[T]) at(ctx context.Context, q querier, branch, number int64) ([]T, error) {
	rows, err := query(ctx, q, c.scan,
		"SELECT "+c.columns+" FROM "+c.table+" WHERE branch_id = $1 AND opened <= $2 AND closed > $2", branch, number)
	slices.SortFunc(rows, c.compare)
	return rows, err
}
