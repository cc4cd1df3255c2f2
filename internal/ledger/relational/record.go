package relational

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

const lastStep = `s.id = (SELECT t.id FROM promotion_step t WHERE t.promotion_id = p.id ORDER BY t.at DESC, t.id DESC LIMIT 1)`

// noDetail is the stored detail of steps without one, so that queries can read all details as JSON.
const noDetail = "{}"

// RecordStep implements [ledger.Promotions].
func (s *Store) RecordStep(ctx context.Context, step ledger.Step) error {
	step.Subject = ledger.CleanSubject(step.Subject)
	if err := require("step", step.Subject, step.Commit, step.Environment, step.Kind); err != nil {
		return err
	}
	if err := checkText("step", step.Reason, step.By, string(step.Detail)); err != nil {
		return err
	}
	if len(step.Detail) > 0 && !json.Valid(step.Detail) {
		return fmt.Errorf("step %q: %w: its detail is not JSON", step.Kind, ledger.ErrInvalid)
	}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := s.checkHold(ctx, tx); err != nil {
			return err
		}
		id, err := ensure(ctx, tx, queries.Get("insertPromotion"), queries.Get("findPromotion"), step.Subject, step.Commit, step.Environment)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, queries.Get("insertStep"), id, micros(step.At), step.Kind, step.Reason, step.By, cmp.Or(string(step.Detail), noDetail))
		return err
	})
	if err != nil {
		return fmt.Errorf("record step %q to %q: %w", step.Kind, step.Environment, err)
	}
	return nil
}

// Steps implements [ledger.Promotions].
func (s *Store) Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error) {
	return s.steps(ctx, q, where{})
}

// Promotions implements [ledger.Promotions].
func (s *Store) Promotions(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error) {
	return s.steps(ctx, q, where{conditions: []string{lastStep}})
}

func (s *Store) steps(ctx context.Context, q ledger.StepQuery, w where) ([]ledger.Step, error) {
	w.text("p.subject = ?", ledger.CleanSubject(q.Subject))
	w.text("p.commit_sha = ?", q.Commit)
	w.environment(q.Environment, q.Parts)
	w.text("s.kind = ?", q.Kind)
	w.text("s.kind <> ?", q.WithoutKind)
	w.span("s.at", q.From, q.To)
	return read(ctx, s, "steps", scanStep, queries.Get("selectSteps")+w.String()+" ORDER BY s.at DESC, s.id DESC"+limit(q.Limit), w.args...)
}

// environment adds the condition that a step is of an environment, and its parts, if the name is not empty.
func (w *where) environment(name string, parts bool) {
	if !parts {
		w.text("p.environment = ?", name)
		return
	}
	prefix := name + "/"
	if strings.Contains(name, "/") {
		prefix = name + "."
	}
	if name != "" {
		w.conditions = append(w.conditions, fmt.Sprintf("(p.environment = %s OR substr(p.environment, 1, %d) = %s)",
			w.arg(name), utf8.RuneCountInString(prefix), w.arg(prefix)))
	}
}

func scanStep(row scanner) (s ledger.Step, err error) {
	var at int64
	var detail string
	err = row.Scan(&s.Subject, &s.Commit, &s.Environment, &s.Kind, &s.Reason, &s.By, &at, &detail)
	s.At = timeOf(at)
	if detail != noDetail {
		s.Detail = json.RawMessage(detail)
	}
	return s, err
}

// RecordChange implements [ledger.Changes].
func (s *Store) RecordChange(ctx context.Context, e ledger.ChangeEvent) error {
	e.Repository = ledger.CleanRepository(e.Repository)
	if err := require("change", e.Repository, e.Kind); err != nil {
		return err
	}
	if err := checkText("change", e.Branch, e.Commit, e.Title, e.URL, e.By); err != nil {
		return err
	}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := s.checkHold(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, queries.Get("insertChange"), e.Repository, e.Number, micros(e.At), e.Kind, e.Branch, e.Commit, e.Title, e.URL, e.By)
		return err
	})
	if err != nil {
		return fmt.Errorf("record change %d of %q: %w", e.Number, e.Repository, err)
	}
	return nil
}

// ChangeEvents implements [ledger.Changes].
func (s *Store) ChangeEvents(ctx context.Context, q ledger.ChangeQuery) ([]ledger.ChangeEvent, error) {
	var w where
	w.repository("repository = ?", q.Repository)
	w.text("branch = ?", q.Branch)
	if q.Number != 0 {
		w.add("number = ?", q.Number)
	}
	w.span("at", q.From, q.To)
	return read(ctx, s, "changes", scanChange, queries.Get("selectChanges")+w.String()+" ORDER BY at DESC, id DESC"+limit(q.Limit), w.args...)
}

func scanChange(row scanner) (e ledger.ChangeEvent, err error) {
	err = row.Scan(&e.Repository, &e.Number, (*microTime)(&e.At), &e.Kind, &e.Branch, &e.Commit, &e.Title, &e.URL, &e.By)
	return e, err
}

// RecordAudit implements [ledger.Audits].
func (s *Store) RecordAudit(ctx context.Context, e ledger.AuditEntry) error {
	if err := require("audit entry", e.Action); err != nil {
		return err
	}
	if err := checkText("audit entry", e.By, e.Subject, e.Detail, e.Address); err != nil {
		return err
	}
	at := micros(e.At)
	id := int64(hashOf(strconv.FormatInt(at, 10), e.By, e.Action, e.Subject, e.Detail, e.Address) >> 1)
	if _, err := s.Write.ExecContext(ctx, queries.Get("insertAudit"), id, at, e.By, e.Action, e.Subject, e.Detail, e.Address); err != nil {
		return fmt.Errorf("record %q: %w", e.Action, err)
	}
	return nil
}

// AuditEntries implements [ledger.Audits].
func (s *Store) AuditEntries(ctx context.Context, q ledger.AuditQuery) ([]ledger.AuditEntry, error) {
	var w where
	w.text("by_whom = ?", q.By)
	w.span("at", q.From, q.To)
	return read(ctx, s, "audit", scanAudit, queries.Get("selectAudit")+w.String()+" ORDER BY at DESC, id DESC"+limit(q.Limit), w.args...)
}

func scanAudit(row scanner) (e ledger.AuditEntry, err error) {
	err = row.Scan((*microTime)(&e.At), &e.By, &e.Action, &e.Subject, &e.Detail, &e.Address)
	return e, err
}

// PutToken implements [ledger.Tokens].
func (s *Store) PutToken(ctx context.Context, t ledger.Token) error {
	return putToken(ctx, s.Write, t)
}

// PutFirstToken implements [ledger.Tokens].
func (s *Store) PutFirstToken(ctx context.Context, t ledger.Token) (stored bool, err error) {
	err = s.serially(ctx, func(tx *sql.Tx, _ int64) error {
		var n int
		if err := tx.QueryRowContext(ctx, queries.Get("countTokens")).Scan(&n); err != nil || n > 0 {
			return err
		}
		stored = true
		return putToken(ctx, tx, t)
	})
	return stored && err == nil, err
}

// writer is a database or a transaction.
type writer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func putToken(ctx context.Context, to writer, t ledger.Token) error {
	if err := require("token", t.ID, t.Hash, t.Role); err != nil {
		return err
	}
	if err := checkText("token", t.Scope, t.Description, t.By); err != nil {
		return err
	}
	_, err := to.ExecContext(ctx, queries.Get("putToken"), t.ID, t.Hash, t.Role, t.Scope, t.Description, t.By,
		micros(t.Created), micros(t.Expires), micros(t.Revoked))
	if err != nil {
		return fmt.Errorf("store token %q: %w", t.ID, err)
	}
	return nil
}

// Tokens implements [ledger.Tokens].
func (s *Store) Tokens(ctx context.Context) ([]ledger.Token, error) {
	return read(ctx, s, "tokens", scanToken, queries.Get("selectTokens")+" ORDER BY id")
}

// TokenByHash implements [ledger.Tokens].
func (s *Store) TokenByHash(ctx context.Context, hash string) (ledger.Token, error) {
	all, err := query(ctx, s.Read, scanToken, queries.Get("selectTokens")+" WHERE hash = $1", hash)
	if err != nil {
		return ledger.Token{}, fmt.Errorf("read token: %w", err)
	}
	if len(all) == 0 {
		return ledger.Token{}, fmt.Errorf("token: %w", ledger.ErrNotFound)
	}
	return all[0], nil
}

func scanToken(row scanner) (t ledger.Token, err error) {
	err = row.Scan(&t.ID, &t.Hash, &t.Role, &t.Scope, &t.Description, &t.By,
		(*microTime)(&t.Created), (*microTime)(&t.Expires), (*microTime)(&t.Revoked))
	return t, err
}
