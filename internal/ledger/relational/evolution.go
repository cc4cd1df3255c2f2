package relational

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// StateHistory implements [ledger.States]. Names and outcomes are read once, because returning them with each observation takes databases
// longer than finding the observations.
func (s *Store) StateHistory(ctx context.Context, q ledger.StateHistoryQuery) ([]ledger.Transition, error) {
	all, err := s.stateHistory(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read what followed %s of %q: %w", q.Ref, q.Repository, err)
	}
	return all, nil
}

func (s *Store) stateHistory(ctx context.Context, q ledger.StateHistoryQuery) ([]ledger.Transition, error) {
	repository, to := ledger.CleanRepository(q.Repository), never
	if err := require("state history", repository, q.Ref); err != nil {
		return nil, err
	}
	if !q.To.IsZero() {
		to = micros(q.To)
	}
	facts, err := query(ctx, s.Read, scanFact, queries.Get("historyBySource"), repository, q.Ref, micros(q.From), to)
	if err != nil {
		return nil, err
	}
	reconcilers, err := query(ctx, s.Read, scanFollowing, queries.Get("reconcilersBySource"), repository, q.Ref)
	if err != nil {
		return nil, err
	}
	outcomes := map[int64]*sharedOutcome{}
	begins := make(map[int64]int, len(reconcilers))
	for i, f := range facts {
		outcomes[f.Outcome] = nil
		if i == 0 || facts[i-1].Reconciler != f.Reconciler {
			begins[f.Reconciler] = i
		}
	}
	if err := s.readOutcomes(ctx, outcomes); err != nil {
		return nil, err
	}
	e := evolution{ledger.StateHistoryQuery{Repository: repository, Ref: q.Ref, From: q.From, To: q.To}, outcomes, nil}
	for _, r := range reconcilers {
		if begin, ok := begins[r.id]; ok {
			e.add(r, facts[begin:])
		}
	}
	return e.all, nil
}

// following is a reconciler that follows or followed a branch.
type following struct {
	ledger.ReconcilerID
	id int64
	// reset is when its cluster was reset, if it did not report since.
	reset int64
}

func scanFollowing(row scanner) (f following, err error) {
	err = row.Scan(&f.id, &f.Cluster, &f.Kind, &f.Namespace, &f.Name, &f.reset)
	return f, err
}

func scanFact(row scanner) (f Fact, err error) {
	err = row.Scan(&f.Reconciler, &f.Observed, &f.Received, &f.Outcome)
	return f, err
}

// evolution collects the outcomes of reconcilers over time.
type evolution struct {
	ledger.StateHistoryQuery
	outcomes map[int64]*sharedOutcome
	all      []ledger.Transition
}

// add adds the outcomes of one reconciler, with whose facts the slice begins.
func (e *evolution) add(r following, facts []Fact) {
	for i := 0; i < len(facts) && facts[i].Reconciler == r.id; {
		first := facts[i]
		for i++; i < len(facts) && facts[i].Reconciler == r.id && facts[i].Outcome == first.Outcome; {
			i++
		}
		until := r.reset
		if i < len(facts) && facts[i].Reconciler == r.id {
			until = facts[i].Observed
		}
		o := e.outcomes[first.Outcome]
		if o == nil || o.Source.Repository != e.Repository || o.Source.Ref != e.Ref {
			continue
		}
		t := ledger.Transition{
			Reconciler: r.ReconcilerID, Outcome: o.Outcome,
			At: timeOf(first.Observed), Until: timeOf(until), Received: timeOf(first.Received),
		}
		if e.To.IsZero() || t.At.Before(e.To) {
			if t.Until.IsZero() || t.Until.After(e.From) {
				e.all = append(e.all, t)
			}
		}
	}
}
