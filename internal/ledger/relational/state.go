package relational

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// States implements [ledger.States].
func (s *Store) States(ctx context.Context, q ledger.StateQuery) (ledger.StatePage, error) {
	var after Follower
	if q.After != "" {
		if _, err := fmt.Sscanf(q.After, "%d.%d", &after.Source, &after.Reconciler); err != nil {
			return ledger.StatePage{}, fmt.Errorf("read states: %w: invalid cursor %q", ledger.ErrInvalid, q.After)
		}
	}
	page, err := s.statePage(ctx, q, after)
	if err != nil {
		return page, fmt.Errorf("read states: %w", err)
	}
	return page, nil
}

func (s *Store) statePage(ctx context.Context, q ledger.StateQuery, after Follower) (page ledger.StatePage, err error) {
	if !q.AsOf.IsZero() && q.Limit > 0 {
		return s.pastPage(ctx, q, after)
	}
	if isEvery(q) {
		page.States, err = s.everyState(ctx, q)
		return page, err
	}
	rows, err := s.stateRows(ctx, q, after, Follower{})
	if err != nil {
		return page, err
	}
	// One more row than the limit means that there is another page.
	if q.Limit > 0 && len(rows) > q.Limit {
		rows = rows[:q.Limit]
		page.Next = rows[q.Limit-1].at.cursor()
	}
	page.States = statesOf(rows)
	return page, nil
}

// pastPage returns the matching states among a page of followers. A follower's state is known only after a lookup,
// and looking up all of them to fill a page would be slow.
func (s *Store) pastPage(ctx context.Context, q ledger.StateQuery, after Follower) (page ledger.StatePage, err error) {
	var w where
	followerConditions(&w, q, after, Follower{})
	last, err := query(ctx, s.Read, scanFollower,
		queries.Get("selectFollowers")+w.String()+fmt.Sprintf(" ORDER BY s.id, x.reconciler_id LIMIT 1 OFFSET %d", q.Limit-1), w.args...)
	if err != nil {
		return page, err
	}
	end := Follower{never, never}
	if len(last) > 0 {
		end = last[0]
		page.Next = end.cursor()
	}
	rows, err := s.stateRows(ctx, q, after, end)
	page.States = statesOf(rows)
	return page, err
}

func scanFollower(row scanner) (f Follower, err error) {
	err = row.Scan(&f.Source, &f.Reconciler)
	return f, err
}

// cursor returns the cursor for the page after a follower.
func (f Follower) cursor() string { return fmt.Sprintf("%d.%d", f.Source, f.Reconciler) }

// stateRows returns the states after a follower, up to end, or one more than the limit if end is zero.
func (s *Store) stateRows(ctx context.Context, q ledger.StateQuery, after, end Follower) ([]stateRow, error) {
	var w where
	text := queries.Get("currentBySource")
	switch {
	case !q.AsOf.IsZero():
		text = queries.Get("pastBySource")
		w.arg(micros(q.AsOf)) // $1
	case q.Cluster != "":
		text = queries.Get("currentByCluster")
		w.add("c.name = ?", q.Cluster)
	}
	if q.State != "" {
		w.add("o.state = ?", q.State.Severity())
	}
	if q.Workload != "" {
		w.add(`EXISTS (SELECT 1 FROM outcome_version v WHERE v.outcome_id = o.id AND v.workload = ?)`, q.Workload)
	}
	followerConditions(&w, q, after, end)
	for _, condition := range w.conditions {
		text += " AND " + condition
	}
	text += " ORDER BY s.id, x.reconciler_id"
	if q.Limit > 0 && end == (Follower{}) {
		text += limit(q.Limit + 1)
	}
	return query(ctx, s.Read, scanState, text, w.args...)
}

// followerConditions adds the conditions that need no state.
func followerConditions(w *where, q ledger.StateQuery, after, end Follower) {
	if q.Cluster != "" {
		w.add(`x.reconciler_id IN (SELECT n.id FROM reconciler n JOIN cluster m ON m.id = n.cluster_id WHERE m.name = ?)`, q.Cluster)
	}
	w.conditions = append(w.conditions, sourceConditions(w, q)...)
	if after != (Follower{}) {
		w.conditions = append(w.conditions, "(x.source_id, x.reconciler_id) > ("+w.arg(after.Source)+", "+w.arg(after.Reconciler)+")")
	}
	if end != (Follower{}) {
		w.conditions = append(w.conditions, "(x.source_id, x.reconciler_id) <= ("+w.arg(end.Source)+", "+w.arg(end.Reconciler)+")")
	}
}

// sourceConditions returns the conditions on sources. The plus keeps SQLite from reading sources from an index in another
// order than by id, which would make it read and sort all their states.
func sourceConditions(w *where, q ledger.StateQuery) []string {
	var b where
	b.args = w.args
	b.text("environment = ?", q.Environment)
	b.repository("repository = ?", q.Repository)
	b.text("ref = ?", q.Ref)
	var conditions []string
	if q.Source != (ledger.Source{}) {
		conditions = append(conditions, "s.id = (SELECT z.id FROM source z JOIN branch y ON y.id = z.branch_id WHERE y.repository = "+
			b.arg(ledger.CleanRepository(q.Source.Repository))+" AND y.ref = "+b.arg(q.Source.Ref)+" AND z.path = "+b.arg(ledger.CleanPath(q.Source.Path))+")")
	}
	if len(b.conditions) > 0 {
		conditions = append(conditions, "+s.branch_id IN (SELECT id FROM branch"+b.String()+")")
	}
	if q.Workload != "" {
		conditions = append(conditions, "(+s.branch_id, s.path) IN (SELECT branch_id, path FROM version WHERE workload = "+b.arg(q.Workload)+")")
	}
	w.args = b.args
	return conditions
}

// stateRow is a state and its position in the order of pages.
type stateRow struct {
	ledger.ReconcilerState
	at Follower
}

func statesOf(rows []stateRow) []ledger.ReconcilerState {
	states := make([]ledger.ReconcilerState, len(rows))
	for i, row := range rows {
		states[i] = row.ReconcilerState
	}
	return states
}

func scanState(row scanner) (s stateRow, err error) {
	var state, health int
	var unhealthy string
	r := &s.ReconcilerState
	err = row.Scan(&r.Reconciler.Cluster, &r.Reconciler.Kind, &r.Reconciler.Namespace, &r.Reconciler.Name,
		&r.Source.Repository, &r.Source.Ref, &r.Source.Path, &r.Environment, &r.Revision, &state, &r.Message,
		&r.Applied, &health, &unhealthy,
		(*microTime)(&r.Since), (*microTime)(&r.Confirmed), (*microTime)(&r.Received), &s.at.Source, &s.at.Reconciler)
	return s, errors.Join(err, setHealth(&r.Outcome, state, health, unhealthy))
}

// Discrepancies implements [ledger.States].
func (s *Store) Discrepancies(ctx context.Context, environment string) ([]ledger.Discrepancy, error) {
	return read(ctx, s, fmt.Sprintf("discrepancies of %q", environment), scanDiscrepancy, queries.Get("selectDiscrepancies"), environment)
}

func scanDiscrepancy(row scanner) (d ledger.Discrepancy, err error) {
	var kind, unhealthy string
	var state, health int
	r, o := &d.Reconciler, &d.Outcome
	err = row.Scan(&kind, &d.Cluster, &d.Environment, &d.ClusterType, &d.Expected, &r.Kind, &r.Namespace, &r.Name,
		&o.Source.Repository, &o.Source.Ref, &o.Source.Path, &o.Revision, &state, &o.Message,
		&o.Applied, &health, &unhealthy,
		(*microTime)(&d.Since), (*microTime)(&d.LastHeard))
	d.Kind = ledger.DiscrepancyKind(kind)
	err = errors.Join(err, setHealth(o, state, health, unhealthy))
	if r.Name != "" {
		r.Cluster = d.Cluster
	}
	return d, err
}
