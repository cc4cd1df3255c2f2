package promote

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// recordStarted records for people that a place has another commit.
func (r *round) recordStarted(ctx context.Context, d decide.Decision) error {
	page := r.journal.page(d.Environment)
	if d.Commit == "" || page.entered() == d.Commit {
		return nil
	}
	reason := ""
	if r.reading.OnlyMoves && len(page.records) > 0 && !page.proposes(d.Commit) {
		reason = editedByHand // a promotion would have been recorded
	}
	return r.recordOnce(ctx, d.Environment, recordedStep{Kind: decide.StepStarted, Commit: d.Commit}, Detail{}, reason)
}

// recordOutcome records for people what became of the commits of a place, each once.
func (r *round) recordOutcome(ctx context.Context, place EnvironmentState, d decide.Decision) error {
	page := r.journal.page(d.Environment)
	for _, c := range d.Ran {
		if page.outcome(c.Commit, c.Revision) != decide.StepDeployed && (c.Commit != d.Commit || d.State.Deployed()) {
			s := recordedStep{Kind: decide.StepDeployed, Commit: c.Commit, Revision: c.Revision}
			if err := r.recordOnce(ctx, d.Environment, s, Detail{}, ""); err != nil {
				return err
			}
		}
	}
	if revision := place.Rollout.Commit; d.State == decide.Failed && page.outcome(d.Commit, revision) != decide.StepFailed {
		s := recordedStep{Kind: decide.StepFailed, Commit: d.Commit, Revision: revision}
		if err := r.recordOnce(ctx, d.Environment, s, Detail{Failure: d.Failure, InRing: d.InRing}, d.Cause); err != nil {
			return err
		}
	}
	return r.recordDone(ctx, place, d)
}

// recordDone records once that a request is done.
func (r *round) recordDone(ctx context.Context, place EnvironmentState, d decide.Decision) error {
	order := r.environment(d.Environment).Request
	if order == nil || d.Request != nil || r.journal.page(d.Environment).fulfilled[order.ID] {
		return nil
	}
	r.did(fmt.Sprintf("request %s in %s is done", order.ID, d.Environment))
	return r.record(ctx, d.Environment, place.Commit, Completed, "", Detail{Request: order.ID})
}

// outcome returns the last recorded result of a revision, or "".
func (p *page) outcome(commit, revision string) decide.StepKind {
	for _, s := range slices.Backward(p.records) {
		if s.Kind != decide.StepStarted && s.Commit == commit && s.Revision == revision {
			return s.Kind
		}
	}
	return ""
}

// recordOnce records a step for people. It checks whether another server was faster; if two servers still record the same step, the
// journal counts it once.
func (r *round) recordOnce(ctx context.Context, environment string, s recordedStep, d Detail, reason string) error {
	if err := r.journal.refresh(ctx, r.Ledger, r.reading.Subject, r.at); err != nil {
		return err
	}
	page := r.journal.page(environment)
	if n := len(page.records); n > 0 && same(page.records[n-1], s) {
		return nil
	}
	d.Revision = s.Revision
	if err := r.record(ctx, environment, s.Commit, s.Kind, reason, d); err != nil {
		return err
	}
	text := fmt.Sprintf("record: %s %s %s", fleet.ShortCommit(s.Commit), s.Kind, environment)
	if reason != "" {
		text += " (" + reason + ")"
	}
	r.did(text)
	return nil
}

// record writes a step with a time after all recorded steps.
func (r *round) record(ctx context.Context, environment, commit string, kind decide.StepKind, reason string, d Detail) error {
	d.Workspace = r.reading.Workspace
	detail, err := json.Marshal(d)
	if err != nil {
		return err
	}
	at := r.at
	if kind == Published {
		at = at.Add(time.Microsecond) // after what was reported until now
	}
	s := ledger.Step{
		PromotionID: ledger.PromotionID{Subject: r.reading.Subject, Commit: commit, Environment: environment},
		Kind:        string(kind), Reason: reason, At: r.journal.page(environment).next(at), Detail: detail,
	}
	if err := r.Ledger.RecordStep(ctx, s); err != nil {
		return err
	}
	r.journal.absorb(s)
	return nil
}
