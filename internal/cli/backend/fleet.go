package backend

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
)

// Querier answers questions about the fleet: a [query.Observer] on a ledger, or a server. Both give the same values.
type Querier interface {
	Environments(ctx context.Context, q query.EnvironmentsQuery) (query.Page[query.Environment], error)
	Progress(ctx context.Context, q query.ProgressQuery) (query.Progress, error)
	Compare(ctx context.Context, q query.CompareQuery) (query.Comparison, error)
	Discrepancies(ctx context.Context, q query.DiscrepanciesQuery) (query.Page[query.Discrepancy], error)
	Promotion(ctx context.Context, q query.PromotionQuery) (query.PromotionDetail, error)
	Figures(ctx context.Context, q query.FiguresQuery) (query.Figures, error)
	applicationQuerier
	clusterQuerier
	historyQuerier
}

// applicationQuerier answers questions about applications that a server delivers. A ledger alone has none.
type applicationQuerier interface {
	Applications(ctx context.Context, q query.ApplicationsQuery) (query.Page[query.Application], error)
	Application(ctx context.Context, q query.ApplicationQuery) (query.ApplicationDetail, error)
}

type clusterQuerier interface {
	Clusters(ctx context.Context, q query.ClustersQuery) (query.Page[query.Cluster], error)
	Cluster(ctx context.Context, q query.ClusterQuery) (query.ClusterDetail, error)
}

type historyQuerier interface {
	Environment(ctx context.Context, q query.EnvironmentQuery) (query.EnvironmentDetail, error)
	History(ctx context.Context, q query.HistoryQuery) (query.Page[query.Event], error)
	Versions(ctx context.Context, q query.VersionsQuery) (query.Page[query.Version], error)
	Targets(ctx context.Context, q query.TargetsQuery) (query.Page[query.Target], error)
}

var (
	_ Querier = (*query.Observer)(nil)
	_ Querier = ServerQuerier{}
)

// Fleet is an open connection to a server or a ledger.
type Fleet struct {
	Querier
	// Changes receives a value when answers may have changed. It is closed when the context ends.
	Changes func(context.Context) <-chan struct{}
	// Update reads again what the answers are made from; optional.
	Update func(context.Context) error
	Close  func() error
}

// Refresh makes the next answers current.
func (f *Fleet) Refresh(ctx context.Context) error {
	if f.Update == nil {
		return nil
	}
	return f.Update(ctx)
}

// PollInterval is how often a ledger is read for changes.
const PollInterval = 2 * time.Second

// Open connects to the server or opens the ledger that the flags choose.
func (f *Flags) Open(cmd *cobra.Command, t *terminal.Terminal) (*Fleet, error) {
	at, err := f.Resolve(cmd, t)
	if err != nil {
		return nil, err
	}
	return at.Open(cmd.Context(), t)
}

// Open connects to the server or opens the ledger.
func (p target) Open(ctx context.Context, t *terminal.Terminal) (*Fleet, error) {
	if p.Server != nil {
		s := ServerQuerier{p.Server}
		return &Fleet{Querier: s, Changes: s.changes, Close: func() error { return nil }}, nil
	}
	l, err := open.Existing(ctx, p.Ledger)
	if err != nil {
		return nil, err
	}
	return &Fleet{Querier: &query.Observer{Ledger: l, Now: t.Now}, Changes: Ticks(PollInterval), Close: l.Close}, nil
}

// Ticks returns a function that sends a value at every interval until the context ends.
func Ticks(interval time.Duration) func(context.Context) <-chan struct{} {
	return func(ctx context.Context) <-chan struct{} {
		ticks := make(chan struct{})
		go func() {
			defer close(ticks)
			ticker := time.NewTicker(interval)
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				select {
				case <-ctx.Done():
					return
				case ticks <- struct{}{}:
				}
			}
		}()
		return ticks
	}
}

// All reads a list page by page, up to limit items; more reports whether there are others.
func All[T any](limit int, page func(query.Paging) (query.Page[T], error)) (items []T, more bool, err error) {
	at := query.Paging{Limit: min(limit, query.MaxLimit)}
	items = []T{}
	for {
		p, err := page(at)
		if err != nil {
			return nil, false, Hint(err)
		}
		items = append(items, p.Items...)
		switch {
		case len(items) >= limit:
			return items[:limit], len(items) > limit || p.Next != "", nil
		// A page that points to itself would loop forever.
		case p.Next == "" || p.Next == at.After:
			return items, false, nil
		}
		at.After = p.Next
	}
}
