package relational

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// RecordCommit implements [ledger.Desired].
func (s *Store) RecordCommit(ctx context.Context, c ledger.Commit) error {
	c.Repository = ledger.CleanRepository(c.Repository)
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
	if !slices.Contains([]ledger.BranchKind{ledger.BranchPlatform, ledger.BranchApplication, ledger.BranchRing}, c.Kind) {
		return fmt.Errorf("commit %q: %w: unknown kind of branch %q", c.SHA, ledger.ErrInvalid, c.Kind)
	}
	if ring := c.Kind == ledger.BranchRing; ring != (c.Origin != "") || ring && len(c.Assignments)+len(c.Versions) > 0 {
		return fmt.Errorf("commit %q: %w: the commits of rings, and no others, have an origin, and no content", c.SHA, ledger.ErrInvalid)
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
	return checkText("commit", c.Environment, c.SourceCommit, c.Origin)
}

func (s *Store) recordCommit(ctx context.Context, tx *sql.Tx, c ledger.Commit) error {
	if err := s.checkHold(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, queries.Get("insertBranch"), c.Repository, c.Branch); err != nil {
		return err
	}
	var branch, number int64
	if err := tx.QueryRowContext(ctx, queries.Get("findBranch")+s.Lock, c.Repository, c.Branch).Scan(&branch); err != nil {
		return err
	}
	err := tx.QueryRowContext(ctx, queries.Get("findCommit"), branch, c.SHA).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		number, err = addCommit(ctx, tx, branch, c)
	}
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, queries.Get("moveHead"), branch, number, string(c.Kind), c.Environment)
	return err
}

// addCommit numbers a commit and stores how its content differs from that of the commit before.
func addCommit(ctx context.Context, tx *sql.Tx, branch int64, c ledger.Commit) (number int64, err error) {
	if err := tx.QueryRowContext(ctx, queries.Get("lastCommit"), branch).Scan(&number); err != nil {
		return 0, err
	}
	number++
	_, err = tx.ExecContext(ctx, queries.Get("insertCommit"), branch, number, c.SHA, c.SourceCommit, c.Origin, micros(c.Committed), micros(c.Recorded))
	if err != nil {
		return 0, err
	}
	if err := assignments.replace(ctx, tx, branch, number, c.Assignments); err != nil {
		return 0, err
	}
	return number, versions.replace(ctx, tx, branch, number, storedVersions(c.Versions))
}

// storedVersions returns versions as the database will return them, so that they can be compared.
func storedVersions(all []ledger.Version) []ledger.Version {
	all = slices.Clone(all)
	for i := range all {
		all[i].Path = ledger.CleanPath(all[i].Path)
		all[i].Built = timeOf(micros(all[i].Built))
	}
	return all
}

// commitRow is a commit with the keys of its content.
type commitRow struct {
	ledger.Commit
	branch, number int64
}

func scanCommit(row scanner) (c commitRow, err error) {
	var committed, recorded int64
	var kind string
	err = row.Scan(&c.branch, &c.number, &c.Repository, &c.Branch, &kind, &c.Environment, &c.SHA, &c.SourceCommit, &c.Origin, &committed, &recorded)
	c.Kind, c.Committed, c.Recorded = ledger.BranchKind(kind), timeOf(committed), timeOf(recorded)
	return c, err
}

// Commit implements [ledger.Desired].
func (s *Store) Commit(ctx context.Context, repository, branch, sha string) (ledger.Commit, error) {
	var w where
	w.add("b.repository = ?", ledger.CleanRepository(repository))
	w.add("b.ref = ?", branch)
	if sha == "" {
		w.conditions = append(w.conditions, "g.number = b.head")
	}
	w.text("g.sha = ?", sha)
	rows, err := query(ctx, s.Read, scanCommit, queries.Get("selectCommits")+w.String(), w.args...)
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

// fill reads the content of a commit.
func (s *Store) fill(ctx context.Context, c *commitRow) (err error) {
	if c.Assignments, err = assignments.at(ctx, s.Read, c.branch, c.number); err != nil {
		return err
	}
	c.Versions, err = versions.at(ctx, s.Read, c.branch, c.number)
	return err
}

// ofEnvironment is the condition that a branch belongs to an environment, alone or shared.
func ofEnvironment(branch string) string {
	return branch + ".id IN (SELECT branch_id FROM environment_branch WHERE environment = ?)"
}

// Commits implements [ledger.Desired].
func (s *Store) Commits(ctx context.Context, q ledger.CommitQuery) ([]ledger.Commit, error) {
	var w where
	w.repository("b.repository = ?", q.Repository)
	w.text("b.ref = ?", q.Branch)
	w.text(ofEnvironment("b"), q.Environment)
	w.text("b.kind = ?", string(q.Kind))
	w.text("b.kind <> ?", string(q.WithoutKind))
	if q.Heads {
		w.conditions = append(w.conditions, "g.number = b.head")
	}
	w.span("g.recorded", q.From, q.To)
	rows, err := query(ctx, s.Read, scanCommit, queries.Get("selectCommits")+w.String()+" ORDER BY g.recorded DESC, b.id, g.number DESC"+limit(q.Limit), w.args...)
	if err != nil {
		return nil, fmt.Errorf("read commits: %w", err)
	}
	var all []ledger.Commit
	for _, row := range rows {
		all = append(all, row.Commit)
	}
	return all, nil
}
