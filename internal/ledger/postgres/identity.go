package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/relational"
)

// Sources implements [relational.Batch].
func (b *batch) Sources(ctx context.Context, sources []ledger.Source) ([]int64, error) {
	repositories := column(sources, func(s ledger.Source) string { return s.Repository })
	refs := column(sources, func(s ledger.Source) string { return s.Ref })
	paths := column(sources, func(s ledger.Source) string { return s.Path })
	ids, missing, err := b.findSources(ctx, repositories, refs, paths)
	if err != nil || missing == 0 {
		return ids, err
	}
	if _, err := b.tx.Exec(ctx, queries.Get("insertBranches"), repositories, refs); err != nil {
		return nil, err
	}
	if _, err := b.tx.Exec(ctx, queries.Get("insertSources"), repositories, refs, paths); err != nil {
		return nil, err
	}
	ids, missing, err = b.findSources(ctx, repositories, refs, paths)
	if err == nil && missing > 0 {
		err = fmt.Errorf("%d sources are missing after the insert", missing)
	}
	return ids, err
}

func (b *batch) findSources(ctx context.Context, repositories, refs, paths []string) (ids []int64, missing int, err error) {
	ids = make([]int64, len(paths))
	missing = len(ids)
	rows, err := b.tx.Query(ctx, queries.Get("findSources"), repositories, refs, paths)
	if err != nil {
		return nil, 0, err
	}
	var place, id int64
	_, err = pgx.ForEachRow(rows, []any{&place, &id}, func() error {
		ids[place-1] = id
		missing--
		return nil
	})
	return ids, missing, err
}

// Reconcilers implements [relational.Batch].
func (b *batch) Reconcilers(ctx context.Context, ids []ledger.ReconcilerID) ([]relational.Current, error) {
	clusters, err := b.clusters(ctx, column(ids, func(id ledger.ReconcilerID) string { return id.Cluster }))
	if err != nil {
		return nil, err
	}
	columns := []any{
		column(ids, func(id ledger.ReconcilerID) int64 { return clusters[id.Cluster] }),
		column(ids, func(id ledger.ReconcilerID) string { return id.Kind }),
		column(ids, func(id ledger.ReconcilerID) string { return id.Namespace }),
		column(ids, func(id ledger.ReconcilerID) string { return id.Name }),
	}
	states, missing, err := b.findReconcilers(ctx, len(ids), columns)
	if err != nil || missing == 0 {
		return states, err
	}
	if _, err := b.tx.Exec(ctx, queries.Get("insertReconcilers"), columns...); err != nil {
		return nil, err
	}
	states, missing, err = b.findReconcilers(ctx, len(ids), columns)
	if err == nil && missing > 0 {
		err = fmt.Errorf("%d reconcilers are missing after the insert", missing)
	}
	return states, err
}

func (b *batch) findReconcilers(ctx context.Context, n int, columns []any) (states []relational.Current, missing int, err error) {
	states, missing = make([]relational.Current, n), n
	rows, err := b.tx.Query(ctx, queries.Get("findReconcilers"), columns...)
	if err != nil {
		return nil, 0, err
	}
	var place int64
	var c relational.Current
	_, err = pgx.ForEachRow(rows, []any{&place, &c.Reconciler, &c.Source, &c.Outcome, &c.Since, &c.Confirmed, &c.Received}, func() error {
		states[place-1] = c
		missing--
		return nil
	})
	return states, missing, err
}

// clusters returns the ids of clusters and locks them. It inserts new ones.
func (b *batch) clusters(ctx context.Context, names []string) (map[string]int64, error) {
	slices.Sort(names)
	names = slices.Compact(names)
	if !slices.ContainsFunc(names, func(name string) bool { return b.locked[name] == 0 }) {
		return b.locked, nil
	}
	if _, err := b.tx.Exec(ctx, queries.Get("insertClusters"), names); err != nil {
		return nil, err
	}
	rows, err := b.tx.Query(ctx, queries.Get("lockClusters"), names)
	if err != nil {
		return nil, err
	}
	var name string
	var id int64
	_, err = pgx.ForEachRow(rows, []any{&name, &id}, func() error { b.locked[name] = id; return nil })
	return b.locked, err
}
