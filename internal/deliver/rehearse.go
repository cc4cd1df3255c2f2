package deliver

import (
	"context"
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// Rehearsed is what commands would do to an application.
type Rehearsed struct {
	// Is is the state of its promotions, and Would what it would be after the commands.
	Is, Would *promote.Outcome
	// Restarts are the workloads that restart, by environment and target.
	Restarts []string
}

// Rehearse returns what commands would do, and changes nothing. last has the results of the last round.
func (c *Chain) Rehearse(ctx context.Context, request Request, last *Delivered, commands ...ledger.Step) (*Rehearsed, error) {
	var r Rehearsed
	var err error
	if r.Is, err = c.Promoter.Preview(ctx, c.Pipeline(request, last)); err != nil {
		return nil, err
	}
	pipeline := c.Pipeline(request, last)
	if r.Would, err = c.Promoter.Rehearse(ctx, pipeline, commands...); err != nil {
		return nil, err
	}
	for _, e := range promote.Effects(r.Is, r.Would) {
		if _, ring := decide.SplitRing(e.Place); ring != "" || e.To == "" || e.To == e.From {
			continue
		}
		restarts, err := c.restarts(ctx, pipeline, e)
		if err != nil {
			return nil, fmt.Errorf("plan %q: %w", e.Place, err)
		}
		r.Restarts = append(r.Restarts, restarts...)
	}
	return &r, nil
}

// restarts plans the commit that an environment would get, and returns the workloads that restart.
func (c *Chain) restarts(ctx context.Context, pipeline *Pipeline, e promote.Effect) ([]string, error) {
	build, err := pipeline.next(ctx, e.Place, e.To, true)
	if err != nil {
		return nil, err
	}
	o, err := c.Deliverer.Plan(ctx, RoundRequest{Request: pipeline.Request, Environment: e.Place, Build: build})
	if err != nil || o.Draft == nil || o.Draft.Plan == nil {
		return nil, err
	}
	var all []string
	for _, t := range o.Draft.Plan.Targets {
		if len(t.Restarts) > 0 {
			all = append(all, fmt.Sprintf("%s %s: %s", e.Place, t.Name, strings.Join(t.Restarts, ", ")))
		}
	}
	return all, nil
}
