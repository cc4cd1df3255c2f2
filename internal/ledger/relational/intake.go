package relational

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// take stores several requests in one transaction.
func (s *Store) take(ctx context.Context, requests []*request) error {
	var reports []ledger.Report
	heard := heartbeats{}
	for _, r := range requests {
		for _, report := range r.reports {
			report.Source.Path = ledger.CleanPath(report.Source.Path)
			reports = append(reports, report)
			// Both times are the same if the cluster reported to a service. What changes there says nothing about the time before.
			observed, received := micros(report.Observed), micros(report.Received)
			heard.add(report.Reconciler.Cluster, received, r.restored || observed == received)
		}
		for _, h := range r.heartbeats {
			heard.add(h.Cluster, micros(h.At), r.restored)
		}
	}
	heard.sort()
	return s.database.Batch(ctx, func(ctx context.Context, b Batch) error {
		if err := b.Heard(ctx, heard); err != nil || len(reports) == 0 {
			return err
		}
		return takeReports(ctx, b, reports)
	})
}

// takeReports stores reports as facts and states.
func takeReports(ctx context.Context, b Batch, reports []ledger.Report) error {
	sources, sourceOf := distinct(reports, func(r ledger.Report) ledger.Source { return r.Source })
	sourceIDs, err := b.Sources(ctx, sources)
	if err != nil {
		return err
	}
	reconcilers, reconcilerOf := distinct(reports, func(r ledger.Report) ledger.ReconcilerID { return r.Reconciler })
	before, err := b.Reconcilers(ctx, reconcilers)
	if err != nil {
		return err
	}
	outcomes, outcomeOf := distinct(reports, func(r ledger.Report) outcomeKey { return keyOf(r.Outcome) })
	outcomeIDs := make([]int64, len(outcomes))
	for i, o := range outcomes {
		outcomeIDs[i] = o.id()
	}

	states := make(map[int64]*Current, len(before))
	for i := range before {
		state := before[i]
		states[state.Reconciler] = &state
	}
	all := make([]observed, len(reports))
	for i, r := range reports {
		fact := Fact{before[reconcilerOf[i]].Reconciler, micros(r.Observed), micros(r.Received), outcomeIDs[outcomeOf[i]]}
		all[i] = observed{fact, sourceIDs[sourceOf[i]]}
	}
	rows, follow := outcomeRows(reports, all), followers(before, all)
	news := advanceAll(states, all)
	if err := b.Facts(ctx, news.facts, news.thin); err != nil {
		return err
	}
	if err := b.States(ctx, changed(before, states), follow); err != nil {
		return err
	}
	if len(news.unsettled) > 0 {
		if err := b.Settle(ctx, news.unsettled); err != nil {
			return err
		}
	}
	// Last, because all clusters share outcomes: other writers wait until the transaction ends.
	return b.Outcomes(ctx, rows, moves(before, states))
}

// outcomeRows returns the distinct outcomes of reports. They are sorted by id, so that all writers lock them in the same order.
func outcomeRows(reports []ledger.Report, all []observed) []OutcomeRow {
	rows := map[int64]OutcomeRow{}
	for i, o := range all {
		row, ok := rows[o.Outcome]
		if !ok {
			r := reports[i]
			k := keyOf(r.Outcome)
			row = OutcomeRow{o.Outcome, o.source, k.revision, k.state.Severity(), k.message, k.applied, k.health, k.unhealthy, o.Observed}
		}
		row.FirstObserved = min(row.FirstObserved, o.Observed)
		rows[o.Outcome] = row
	}
	return slices.SortedFunc(maps.Values(rows), func(a, b OutcomeRow) int { return cmp.Compare(a.ID, b.ID) })
}

// moves returns how the numbers of reconcilers at outcomes change.
func moves(before []Current, states map[int64]*Current) []Move {
	count := map[int64]int64{}
	for _, b := range before {
		if now := states[b.Reconciler]; now.Outcome != b.Outcome {
			count[b.Outcome]--
			count[now.Outcome]++
		}
	}
	delete(count, 0) // new reconcilers
	var out []Move
	for _, outcome := range slices.Sorted(maps.Keys(count)) {
		if count[outcome] != 0 {
			out = append(out, Move{outcome, count[outcome]})
		}
	}
	return out
}

// changed returns the states that differ from before.
func changed(before []Current, states map[int64]*Current) []Current {
	var out []Current
	for _, b := range before {
		if now := *states[b.Reconciler]; now != b {
			out = append(out, now)
		}
	}
	return out
}

// followers returns the pairs of source and reconciler that are new.
func followers(before []Current, all []observed) []Follower {
	known := make(map[Follower]bool, len(before))
	for _, b := range before {
		known[Follower{b.Source, b.Reconciler}] = true
	}
	var out []Follower
	for _, o := range all {
		f := Follower{o.source, o.Reconciler}
		if !known[f] {
			known[f] = true
			out = append(out, f)
		}
	}
	return out
}

// distinct returns the distinct values of a key, and for each report the index of its value.
func distinct[K comparable](reports []ledger.Report, key func(ledger.Report) K) (values []K, of []int) {
	index := map[K]int{}
	of = make([]int, len(reports))
	for i, r := range reports {
		k := key(r)
		n, ok := index[k]
		if !ok {
			n = len(values)
			index[k] = n
			values = append(values, k)
		}
		of[i] = n
	}
	return values, of
}
