package relational

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// isEvery reports whether a query is for all current states of sources, of which there can be one for each cluster.
func isEvery(q ledger.StateQuery) bool {
	return q.AsOf.IsZero() && q.Limit == 0 && q.After == "" && q.Cluster == "" && q.State == "" && q.Workload == ""
}

// ownState is what a state does not share with others: thousands of reconcilers have the same outcome.
type ownState struct {
	reconciler                          ledger.ReconcilerID
	since, confirmed, received, outcome int64
	at                                  Follower
}

func scanOwnState(row scanner) (s ownState, err error) {
	r := &s.reconciler
	err = row.Scan(&r.Cluster, &r.Kind, &r.Namespace, &r.Name, &s.since, &s.confirmed, &s.received, &s.outcome, &s.at.Source, &s.at.Reconciler)
	return s, err
}

// everyState returns all current states of sources. Several connections read a part each, which has whole clusters: what a cluster reported
// together is read together. Outcomes are read once, because returning them with each state takes databases longer than finding the states.
func (s *Store) everyState(ctx context.Context, q ledger.StateQuery) ([]ledger.ReconcilerState, error) {
	var last int64
	if err := s.Read.QueryRowContext(ctx, queries.Get("lastCluster")).Scan(&last); err != nil {
		return nil, err
	}
	parts := make([][]ownState, listers)
	group, gctx := errgroup.WithContext(ctx)
	for i := range parts {
		after, until := last*int64(i)/listers, last*int64(i+1)/listers
		if i+1 == listers {
			until = never
		}
		group.Go(func() (err error) {
			var w where
			w.add("r.cluster_id > ?", after)
			w.add("r.cluster_id <= ?", until)
			w.conditions = append(w.conditions, sourceConditions(&w, q)...)
			parts[i], err = query(gctx, s.Read, scanOwnState,
				queries.Get("everyBySource")+" AND "+strings.Join(w.conditions, " AND ")+" ORDER BY s.id, x.reconciler_id", w.args...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	own := slices.Concat(parts...)
	slices.SortFunc(own, func(a, b ownState) int {
		return cmp.Or(cmp.Compare(a.at.Source, b.at.Source), cmp.Compare(a.at.Reconciler, b.at.Reconciler))
	})
	return s.withOutcomes(ctx, own)
}

// withOutcomes adds the outcomes of states, in their order. It leaves out states whose outcomes were deleted meanwhile.
func (s *Store) withOutcomes(ctx context.Context, own []ownState) ([]ledger.ReconcilerState, error) {
	outcomes := map[int64]*sharedOutcome{}
	for i := range own {
		outcomes[own[i].outcome] = nil
	}
	if err := s.readOutcomes(ctx, outcomes); err != nil {
		return nil, err
	}
	states := make([]ledger.ReconcilerState, 0, len(own))
	for i := range own {
		if o := outcomes[own[i].outcome]; o != nil {
			states = append(states, ledger.ReconcilerState{
				Reconciler: own[i].reconciler, Outcome: o.Outcome, Environment: o.environment,
				Since: timeOf(own[i].since), Confirmed: timeOf(own[i].confirmed), Received: timeOf(own[i].received),
			})
		}
	}
	return states, nil
}

// readOutcomes sets the outcomes of a map by their ids. Those that were deleted meanwhile stay nil.
func (s *Store) readOutcomes(ctx context.Context, outcomes map[int64]*sharedOutcome) error {
	for ids := range slices.Chunk(slices.Collect(maps.Keys(outcomes)), 500) {
		var w where
		places := make([]string, len(ids))
		for i, id := range ids {
			places[i] = w.arg(id)
		}
		found, err := query(ctx, s.Read, scanOutcome, queries.Get("selectOutcomes")+" WHERE o.id IN ("+strings.Join(places, ", ")+")", w.args...)
		if err != nil {
			return err
		}
		for i := range found {
			outcomes[found[i].id] = &found[i]
		}
	}
	return nil
}

// sharedOutcome is an outcome, and the environment of its branch.
type sharedOutcome struct {
	ledger.Outcome
	id          int64
	environment string
}

func scanOutcome(row scanner) (o sharedOutcome, err error) {
	var state, health int
	var unhealthy string
	err = row.Scan(&o.id, &o.Source.Repository, &o.Source.Ref, &o.Source.Path, &o.environment, &o.Revision, &state, &o.Message, &o.Applied, &health, &unhealthy)
	return o, errors.Join(err, setHealth(&o.Outcome, state, health, unhealthy))
}
