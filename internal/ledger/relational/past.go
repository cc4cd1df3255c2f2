package relational

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

const (
	// perList limits the reconcilers of a list; each takes 20 bytes.
	perList = 50_000
	// listers is how many connections read lists. More would mostly wait for each other.
	listers = 2
)

// everyPastVersion counts all reconcilers in the order in which observations are stored. For many reconcilers,
// this is much faster than by source.
func (s *Store) everyPastVersion(ctx context.Context, q ledger.VersionQuery) ([]ledger.VersionState, error) {
	counts, err := s.pastCounts(ctx, micros(q.AsOf))
	if err != nil {
		return nil, err
	}
	var w where
	w.text("v.environment = ?", q.Environment)
	w.add("v.first_observed <= ?", micros(q.AsOf))
	rows, err := query(ctx, s.Read, scanOutcomeVersion, queries.Get("outcomeVersions")+w.String(), w.args...)
	if err != nil {
		return nil, err
	}
	return sumOutcomes(rows, counts), nil
}

// sumOutcomes merges outcomes with the same version and state, without those that no reconciler was at.
func sumOutcomes(rows []outcomeVersion, counts map[int64]int) []ledger.VersionState {
	type key struct {
		version ledger.Version
		state   ledger.State
	}
	sums := map[key]ledger.VersionState{}
	for _, row := range rows {
		n := counts[row.outcome]
		if n == 0 {
			continue
		}
		k := key{row.Version, row.State}
		sum, ok := sums[k]
		if !ok || row.Since.Before(sum.Since) {
			row.Reconcilers = sum.Reconcilers
			sum = row.VersionState
		}
		sum.Reconcilers += n
		sums[k] = sum
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b ledger.VersionState) int {
		return cmp.Or(compareVersions(a.Version, b.Version), cmp.Compare(a.State.Severity(), b.State.Severity()),
			cmp.Compare(a.Workspace, b.Workspace), a.Built.Compare(b.Built))
	})
}

// pastCounts returns how many reconcilers were at each outcome. Several connections read a part each.
func (s *Store) pastCounts(ctx context.Context, at int64) (map[int64]int, error) {
	var last int64
	if err := s.Read.QueryRowContext(ctx, queries.Get("lastReconciler")).Scan(&last); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	counts := map[int64]int{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listers)
	for first := int64(0); first < last; first += perList {
		group.Go(func() error {
			var list []byte
			if err := s.Read.QueryRowContext(ctx, queries.Get("listPast"), at, first, first+perList).Scan(&list); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			return countOutcomes(counts, list)
		})
	}
	return counts, group.Wait()
}

// countOutcomes counts the outcomes in a list of ids.
func countOutcomes(counts map[int64]int, list []byte) error {
	for outcome := range bytes.FieldsSeq(list) {
		id, err := strconv.ParseInt(string(outcome), 10, 64)
		if err != nil {
			return err
		}
		counts[id]++
	}
	return nil
}

// outcomeVersion is the version in an outcome; Reconcilers is not set.
type outcomeVersion struct {
	ledger.VersionState
	outcome int64
}

func scanOutcomeVersion(row scanner) (v outcomeVersion, err error) {
	var severity int
	err = row.Scan(append([]any{&v.outcome, (*microTime)(&v.Since), &severity}, versionFields(&v.Version)...)...)
	v.State = hub.StateOf(severity)
	return v, err
}
