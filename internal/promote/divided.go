package promote

import (
	"cmp"
	"context"
	"slices"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// wholeBatch is a batch, or a whole ring, that was divided: its clusters had its branch before, with the same commits.
type wholeBatch struct{ name, branch string }

// wholes returns the batches that a stage was a part of, the smallest first.
func (r *Rings) wholes(environment string, s fleet.Stage) []wholeBatch {
	var all []wholeBatch
	if _, own := s.Own(); own {
		return nil
	}
	for bits := s.Bits(); bits != ""; {
		bits = bits[:len(bits)-1]
		name := fleet.StageName(s.Ring, bits)
		if i := slices.IndexFunc(r.Former, func(f RingState) bool { return f.Name == name }); i >= 0 {
			all = append(all, wholeBatch{decide.RingName(environment, name), r.Former[i].Branch})
		}
	}
	return all
}

// carriers returns the revisions that a place had, oldest first, without what its gate said. Those of a part of a batch that was divided begin
// with those of the batch, so that nothing starts again. It drops the batches that are too long ago from place.
func (r *round) carriers(place *EnvironmentState) []decide.Carrier {
	all := r.journal.page(place.Environment).carriers(*place, r.at)
	for i, whole := range place.wholes {
		had := r.journal.page(whole.name).carriers(EnvironmentState{}, r.at)
		if len(all) > 0 {
			had = slices.DeleteFunc(had, func(c decide.Carrier) bool { return !c.Entered.Before(all[0].Entered) })
		}
		if n := len(had); n == 0 || len(all) == 0 {
			place.wholes = place.wholes[:i]
			break
		}
		last := &had[len(had)-1]
		if first := &all[0]; last.Commit == first.Commit && last.Revision == first.Revision {
			last.Checks = slices.Concat(last.Checks, first.Checks)
			last.Left = first.Left
			all = slices.Concat(had, all[1:])
			continue
		}
		last.Left = all[0].Entered
		all = slices.Concat(had, all)
	}
	return all[max(len(all)-maxCarriers, 0):]
}

// addWholes adds the states of clusters that still follow the branch of the batch that was divided, as if they followed that of its part.
func (r *round) addWholes(ctx context.Context, place EnvironmentState, source hub.Source, states []ledger.ReconcilerState) ([]ledger.ReconcilerState, error) {
	moved := map[string]bool{}
	for i := range states {
		moved[states[i].Reconciler.Cluster] = true
	}
	for _, whole := range place.wholes {
		page, err := r.Ledger.States(ctx, ledger.StateQuery{Repository: source.Repository, Ref: whole.branch})
		if err != nil {
			return nil, err
		}
		for _, s := range page.States {
			if s.Source.Ref = source.Ref; !moved[s.Reconciler.Cluster] {
				states = append(states, s)
			}
		}
	}
	return states, nil
}

// stateHistory reads what reconcilers reported about the branch of a place, and of the batches that it was a part of, by reconciler and time.
func (r *round) stateHistory(ctx context.Context, place EnvironmentState, q ledger.StateHistoryQuery) ([]ledger.Transition, error) {
	all, err := r.Ledger.StateHistory(ctx, q)
	if err != nil || len(place.wholes) == 0 {
		return all, err
	}
	ref, moved := q.Ref, map[string]time.Time{}
	for _, t := range all {
		if at, known := moved[t.Reconciler.Cluster]; !known || t.At.Before(at) {
			moved[t.Reconciler.Cluster] = t.At
		}
	}
	for _, whole := range place.wholes {
		q.Ref = whole.branch
		before, err := r.Ledger.StateHistory(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, t := range before {
			t.Source.Ref = ref
			at, known := moved[t.Reconciler.Cluster]
			if known && !t.At.Before(at) {
				continue
			}
			if known && (t.Until.IsZero() || t.Until.After(at)) {
				t.Until = at
			}
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b ledger.Transition) int {
		x, y := a.Reconciler, b.Reconciler
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name), a.At.Compare(b.At))
	})
	return all, nil
}
