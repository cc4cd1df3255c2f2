package relational

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

const (
	insertBranch = `INSERT INTO branch (repository, ref) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	findBranch   = `SELECT id FROM branch WHERE repository = $1 AND ref = $2`

	findCommit   = `SELECT number FROM gitops_commit WHERE branch_id = $1 AND sha = $2`
	lastCommit   = `SELECT COALESCE(MAX(number), 0) FROM gitops_commit WHERE branch_id = $1`
	insertCommit = `
INSERT INTO gitops_commit (branch_id, number, sha, source_commit, committed, recorded) VALUES ($1, $2, $3, $4, $5, $6)`
	moveHead = `UPDATE branch SET head = $2, kind = $3, environment = $4 WHERE id = $1`
)

// RecordCommit implements [ledger.Desired].
func (s *Store) RecordCommit(ctx context.Context, c ledger.Commit) error {
	if err := checkCommit(c); err != nil {
		return err
	}
	if err := s.inTransaction(ctx, func(tx *sql.Tx) error { return s.recordCommit(ctx, tx, c) }); err != nil {
		return fmt.Errorf("record commit %q of %q: %w", c.SHA, c.Repository, err)
	}
	return nil
}

func checkCommit(c ledger.Commit) error {
	if err := require("commit", c.Repository, c.Branch, c.SHA); err != nil {
		return err
	}
	if c.Kind != ledger.BranchPlatform && c.Kind != ledger.BranchApplication {
		return fmt.Errorf("commit %q: %w: %q is no kind of branch", c.SHA, ledger.ErrInvalid, c.Kind)
	}
	for _, a := range c.Assignments {
		if err := checkText("assignment", a.ClusterType, a.Target, a.Workload, a.Workspace, a.Environment); err != nil {
			return err
		}
	}
	for _, v := range c.Versions {
		if err := checkText("version", v.Workload, v.Workspace, v.Target, v.Environment, v.Path, v.Version, v.Build, v.Commit); err != nil {
			return err
		}
	}
	return checkText("commit", c.Environment, c.SourceCommit)
}

func (s *Store) recordCommit(ctx context.Context, tx *sql.Tx, c ledger.Commit) error {
	if _, err := tx.ExecContext(ctx, insertBranch, c.Repository, c.Branch); err != nil {
		return err
	}
	var branch, number int64
	if err := tx.QueryRowContext(ctx, findBranch+s.Lock, c.Repository, c.Branch).Scan(&branch); err != nil {
		return err
	}
	err := tx.QueryRowContext(ctx, findCommit, branch, c.SHA).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		number, err = addCommit(ctx, tx, branch, c)
	}
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, moveHead, branch, number, string(c.Kind), c.Environment)
	return err
}

// addCommit numbers a commit and stores in what it differs from the one recorded before.
func addCommit(ctx context.Context, tx *sql.Tx, branch int64, c ledger.Commit) (number int64, err error) {
	if err := tx.QueryRowContext(ctx, lastCommit, branch).Scan(&number); err != nil {
		return 0, err
	}
	number++
	_, err = tx.ExecContext(ctx, insertCommit, branch, number, c.SHA, c.SourceCommit, micros(c.Committed), micros(c.Recorded))
	if err != nil {
		return 0, err
	}
	if err := assignments.replace(ctx, tx, branch, number, c.Assignments); err != nil {
		return 0, err
	}
	return number, versions.replace(ctx, tx, branch, number, storedVersions(c.Versions))
}

// storedVersions are versions as they come back, so that they can be compared with those.
func storedVersions(all []ledger.Version) []ledger.Version {
	all = slices.Clone(all)
	for i := range all {
		all[i].Path = ledger.CleanPath(all[i].Path)
		all[i].Built = timeOf(micros(all[i].Built))
	}
	return all
}

// content is a table with what commits want: rows that were opened by one commit and closed by another.
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

// versionFields are where the columns of a version go.
func versionFields(v *ledger.Version) []any {
	return []any{&v.Workload, &v.Workspace, &v.Target, &v.Environment, &v.Path, &v.Version, &v.Build, &v.Commit, (*microTime)(&v.Built)}
}

func compareVersions(a, b ledger.Version) int {
	key := func(v ledger.Version) string {
		return strings.Join([]string{v.Environment, v.Workload, v.Target, v.Path, v.Version, v.Build, v.Commit}, "\x00")
	}
	return strings.Compare(key(a), key(b))
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

// replace makes rows the content from a commit on: it closes what is not among them and opens what is new.
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

// closeRows closes rows together: to look for each of them alone takes long where a branch wants much.
func (c content[T]) closeRows(ctx context.Context, tx *sql.Tx, branch, number int64, rows []T) error {
	w := where{args: []any{number, branch, never}}
	_, err := tx.ExecContext(ctx, "UPDATE "+c.table+" SET closed = $1 WHERE branch_id = $2 AND closed = $3 AND ("+c.columns+") IN (VALUES "+
		c.tuples(&w, "", rows)+")", w.args...)
	return err
}

// tuples writes rows as values of a statement, each after some that all of them share.
func (c content[T]) tuples(w *where, shared string, rows []T) string {
	tuples := make([]string, len(rows))
	for i, row := range rows {
		places := make([]string, 0, 9)
		for _, value := range c.values(row) {
			place := w.arg(value)
			if _, isNumber := value.(int64); isNumber {
				place = "CAST(" + place + " AS BIGINT)" // PostgreSQL takes values that it knows nothing of for text
			}
			places = append(places, place)
		}
		tuples[i] = "(" + shared + strings.Join(places, ", ") + ")"
	}
	return strings.Join(tuples, ", ")
}

// at returns the content at a commit, in order.
func (c content[T]) at(ctx context.Context, q querier, branch, number int64) ([]T, error) {
	rows, err := query(ctx, q, c.scan,
		"SELECT "+c.columns+" FROM "+c.table+" WHERE branch_id = $1 AND opened <= $2 AND closed > $2", branch, number)
	slices.SortFunc(rows, c.compare)
	return rows, err
}

const selectCommits = `
SELECT b.id, g.number, b.repository, b.ref, b.kind, b.environment, g.sha, g.source_commit, g.committed, g.recorded
FROM gitops_commit g JOIN branch b ON b.id = g.branch_id`

// commitRow is a commit, and where its content is.
type commitRow struct {
	ledger.Commit
	branch, number int64
}

func scanCommit(row scanner) (c commitRow, err error) {
	var committed, recorded int64
	var kind string
	err = row.Scan(&c.branch, &c.number, &c.Repository, &c.Branch, &kind, &c.Environment, &c.SHA, &c.SourceCommit, &committed, &recorded)
	c.Kind, c.Committed, c.Recorded = ledger.BranchKind(kind), timeOf(committed), timeOf(recorded)
	return c, err
}

// Commit implements [ledger.Desired].
func (s *Store) Commit(ctx context.Context, repository, branch, sha string) (ledger.Commit, error) {
	var w where
	w.add("b.repository = ?", repository)
	w.add("b.ref = ?", branch)
	if sha == "" {
		w.conditions = append(w.conditions, "g.number = b.head")
	}
	w.text("g.sha = ?", sha)
	rows, err := query(ctx, s.Read, scanCommit, selectCommits+w.String(), w.args...)
	if err == nil && len(rows) == 0 {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return ledger.Commit{}, fmt.Errorf("read commit %q of branch %q of %q: %w", sha, branch, repository, err)
	}
	if err := s.fill(ctx, &rows[0]); err != nil {
		return ledger.Commit{}, fmt.Errorf("read content of commit %q: %w", sha, err)
	}
	return rows[0].Commit, nil
}

// fill reads what a commit wants.
func (s *Store) fill(ctx context.Context, c *commitRow) (err error) {
	if c.Assignments, err = assignments.at(ctx, s.Read, c.branch, c.number); err != nil {
		return err
	}
	c.Versions, err = versions.at(ctx, s.Read, c.branch, c.number)
	return err
}

// ofEnvironment is the condition that a branch is of an environment, or shared by several of which it is one.
func ofEnvironment(branch string) string {
	return branch + ".id IN (SELECT branch_id FROM environment_branch WHERE environment = ?)"
}

// Commits implements [ledger.Desired].
func (s *Store) Commits(ctx context.Context, q ledger.CommitQuery) ([]ledger.Commit, error) {
	var w where
	w.text("b.repository = ?", q.Repository)
	w.text("b.ref = ?", q.Branch)
	w.text(ofEnvironment("b"), q.Environment)
	w.text("b.kind = ?", string(q.Kind))
	if q.Heads {
		w.conditions = append(w.conditions, "g.number = b.head")
	}
	w.span("g.recorded", q.From, q.To)
	rows, err := query(ctx, s.Read, scanCommit, selectCommits+w.String()+" ORDER BY g.recorded DESC, b.id, g.number DESC"+limit(q.Limit), w.args...)
	if err != nil {
		return nil, fmt.Errorf("read commits: %w", err)
	}
	var all []ledger.Commit
	for _, row := range rows {
		all = append(all, row.Commit)
	}
	return all, nil
}
