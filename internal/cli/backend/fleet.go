package backend

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// FleetAnswers is who knows how the fleet is doing: an [query.Observer] on a ledger, or a server.
// Either gives the same values.
type FleetAnswers interface {
	Environments(ctx context.Context, q query.EnvironmentsQuery) (query.Page[query.Environment], error)
	Progress(ctx context.Context, q query.ProgressQuery) (query.Progress, error)
	Compare(ctx context.Context, q query.CompareQuery) (query.Comparison, error)
	applicationAnswers
	clusterAnswers
	pastAnswers
}

// applicationAnswers is who knows the applications that a server delivers; a ledger alone knows none.
type applicationAnswers interface {
	Applications(ctx context.Context, q query.ApplicationsQuery) (query.Page[query.Application], error)
	Application(ctx context.Context, q query.ApplicationQuery) (query.ApplicationDetail, error)
}

// clusterAnswers is who knows the clusters.
type clusterAnswers interface {
	Clusters(ctx context.Context, q query.ClustersQuery) (query.Page[query.Cluster], error)
	Cluster(ctx context.Context, q query.ClusterQuery) (query.ClusterDetail, error)
}

// pastAnswers is who knows what was.
type pastAnswers interface {
	Environment(ctx context.Context, q query.EnvironmentQuery) (query.EnvironmentDetail, error)
	History(ctx context.Context, q query.HistoryQuery) (query.Page[query.Event], error)
	Versions(ctx context.Context, q query.VersionsQuery) (query.Page[query.Version], error)
}

var (
	_ FleetAnswers = (*query.Observer)(nil)
	_ FleetAnswers = ServerAnswers{}
)

// Asked is who answers a command, and when to ask again.
type Asked struct {
	FleetAnswers
	// Changes tells, until the context ends, that the answers may be others now.
	Changes func(context.Context) <-chan struct{}
	// Look brings what the answers are made of up to date; nil where somebody else does.
	Look  func(context.Context) error
	Close func() error
}

// Fresh makes the next answers those of now.
func (a *Asked) Fresh(ctx context.Context) error {
	if a.Look == nil {
		return nil
	}
	return a.Look(ctx)
}

// Often is how often a ledger is looked at, which does not tell by itself that something changed.
const Often = 2 * time.Second

// Ask finds whom to ask.
func (f *Flags) Ask(cmd *cobra.Command, t *terminal.Terminal) (*Asked, error) {
	at, err := f.Find(cmd, t)
	if err != nil {
		return nil, err
	}
	return at.Ask(cmd.Context(), t)
}

func (p place) Ask(ctx context.Context, t *terminal.Terminal) (*Asked, error) {
	if p.Server != nil {
		s := ServerAnswers{p.Server}
		return &Asked{FleetAnswers: s, Changes: s.changes, Close: func() error { return nil }}, nil
	}
	l, err := OpenExisting(ctx, p.Ledger)
	if err != nil {
		return nil, err
	}
	return &Asked{FleetAnswers: &query.Observer{Ledger: l, Now: t.Now}, Changes: Ticks(Often), Close: l.Close}, nil
}

// Ticks tells every now and then.
func Ticks(every time.Duration) func(context.Context) <-chan struct{} {
	return func(ctx context.Context) <-chan struct{} {
		told := make(chan struct{})
		go func() {
			defer close(told)
			clock := time.NewTicker(every)
			defer clock.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-clock.C:
				}
				select {
				case <-ctx.Done():
					return
				case told <- struct{}{}:
				}
			}
		}()
		return told
	}
}

// Answered adds to an error of an answer what to do now.
func Answered(err error) error {
	var unknown *query.UnknownError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unknown):
		return cli.Failed(err, "kalypso status lists environments, and kalypso cluster list clusters")
	case errors.Is(err, ledger.ErrInvalid):
		return &cli.Failure{Code: cli.ExitUsage, Err: err}
	}
	return Hint(err)
}

// All reads a list page by page, up to a number of items; more says that there were more.
func All[T any](most int, page func(query.Paging) (query.Page[T], error)) (items []T, more bool, err error) {
	at := query.Paging{Limit: min(most, query.MaxLimit)}
	items = []T{}
	for {
		p, err := page(at)
		if err != nil {
			return nil, false, Answered(err)
		}
		items = append(items, p.Items...)
		switch {
		case len(items) >= most:
			return items[:most], len(items) > most || p.Next != "", nil
		// A page that leads to itself would never end.
		case p.Next == "" || p.Next == at.After:
			return items, false, nil
		}
		at.After = p.Next
	}
}
