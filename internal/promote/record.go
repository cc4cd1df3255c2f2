package promote

import (
	"context"
	"encoding/json"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// recordHistory puts a step of the history on record, once: it looks whether another server was faster,
// and of two that still manage to be at the same time the journal counts one.
func (r *round) recordHistory(ctx context.Context, a decide.Record) error {
	if err := r.journal.refresh(ctx, r.Ledger, r.reading.Subject, r.at); err != nil {
		return err
	}
	page := r.journal.page(a.Environment)
	if n := len(page.history); n > 0 && same(page.history[n-1], a.Step) {
		return nil
	}
	if err := r.record(ctx, a.Environment, a.Step.Commit, a.Step.Kind, a.Reason, Detail{Revision: a.Step.Revision}); err != nil {
		return err
	}
	return r.done("recorded", a.String())
}

// record writes a step, after all that are on record.
func (r *round) record(ctx context.Context, environment, commit string, kind decide.StepKind, reason string, d Detail) error {
	detail, err := json.Marshal(d)
	if err != nil {
		return err
	}
	s := ledger.Step{
		PromotionID: ledger.PromotionID{Subject: r.reading.Subject, Commit: commit, Environment: environment},
		Kind:        string(kind), Reason: reason, At: r.journal.page(environment).next(r.at), Detail: detail,
	}
	if err := r.Ledger.RecordStep(ctx, s); err != nil {
		return err
	}
	r.journal.absorb(s)
	return nil
}
