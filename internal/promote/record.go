package promote

import (
	"context"
	"encoding/json"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// recordHistory records a step once. It checks whether another server was faster;
// if two servers still record the same step, the journal counts it once.
func (r *round) recordHistory(ctx context.Context, a decide.Record) error {
	if err := r.journal.refresh(ctx, r.Ledger, r.reading.Subject, r.at); err != nil {
		return err
	}
	page := r.journal.page(a.Environment)
	if n := len(page.history); n > 0 && same(page.history[n-1], a.Step) {
		return nil
	}
	if err := r.record(ctx, a.Environment, a.Step.Commit, a.Step.Kind, a.Reason, Detail{Revision: a.Step.Revision, Failure: a.Failure, InRing: a.InRing}); err != nil {
		return err
	}
	r.did(a.String())
	return nil
}

// record writes a step with a time after all recorded steps.
func (r *round) record(ctx context.Context, environment, commit string, kind decide.StepKind, reason string, d Detail) error {
	d.Workspace = r.reading.Workspace
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
