package deliver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Chain takes the commits of applications along their environments: a round of each environment, and then one of promotion.
// It is safe for concurrent use, but for two rounds of one application, which would do the same work twice.
type Chain struct {
	Deliverer *Deliverer        // required
	Promoter  *promote.Promoter // required
	Lines     promote.Lines     // required
	Ledger    Ledger            // required
	// Link returns the page of an environment for people; nil for none.
	Link func(environment string) string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Delivered is what a round of a chain found and did.
type Delivered struct {
	// Environments are what the rounds of the environments found, and Errors why one could not be known, by name.
	Environments map[string]*Outcome
	Errors       map[string]error
	// Promotion is nil when it was not come to.
	Promotion *promote.Outcome
	// App is what the head of the source says; nil when it cannot be read.
	App *Application
	// Commits are those of the source branch, the oldest first, and Builds what CI made of them, by commit.
	// Both are empty when promotion was not come to.
	Commits []promote.Commit
	Builds  map[string]Build
	// Did lists everything that was done, in order.
	Did []string
}

// Round makes one round. What goes wrong in one environment is in the result and stops no other; the error is of what
// concerns all of them.
func (c *Chain) Round(ctx context.Context, request Request) (*Delivered, error) {
	d := &Delivered{Environments: map[string]*Outcome{}, Errors: map[string]error{}}
	a, err := c.Deliverer.Loader.Application(ctx, request, "")
	if err != nil {
		return d, err
	}
	d.App = a
	c.environments(ctx, request, a, d)
	if err := ctx.Err(); err != nil {
		return d, err
	}
	for _, name := range a.Environments() {
		if o := d.Environments[name]; o != nil {
			for _, did := range o.Did {
				d.Did = append(d.Did, name+": "+did)
			}
		}
	}
	if err := adopt(ctx, c.Ledger, a); err != nil {
		return d, err
	}
	if err := c.remember(ctx, a, d); err != nil {
		return d, err
	}
	return d, c.promote(ctx, request, d)
}

// Follow makes a round of promotion alone, with what the environments were found to be in the last round.
// It returns a new result; the last one is not changed.
func (c *Chain) Follow(ctx context.Context, request Request, last *Delivered) (*Delivered, error) {
	d := &Delivered{Environments: last.Environments, Errors: last.Errors, App: last.App}
	return d, c.promote(ctx, request, d)
}

// promote makes the round of promotion.
func (c *Chain) promote(ctx context.Context, request Request, d *Delivered) (err error) {
	pipeline := c.Pipeline(request, d)
	d.Promotion, err = c.Promoter.Round(ctx, pipeline)
	d.Commits, d.Builds = pipeline.line, pipeline.builds
	if d.Promotion != nil {
		d.Did = append(d.Did, d.Promotion.Did...)
	}
	return err
}

// Pipeline is what moves, by what the rounds of the environments found.
func (c *Chain) Pipeline(request Request, outcomes Outcomes) *Pipeline {
	return &Pipeline{Deliverer: c.Deliverer, Request: request, Lines: c.Lines, Outcomes: outcomes, Ledger: c.Ledger, Link: c.Link}
}

// environments makes the rounds of all environments.
func (c *Chain) environments(ctx context.Context, request Request, a *Application, d *Delivered) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	limit := make(chan struct{}, maxReaders)
	for _, name := range a.Environments() {
		limit <- struct{}{}
		wait.Go(func() {
			defer func() { <-limit }()
			o, err := c.Deliverer.Round(ctx, Order{Request: request, Environment: name})
			mu.Lock()
			defer mu.Unlock()
			d.Environments[name] = o
			if err != nil {
				d.Errors[name] = err
			}
		})
	}
	wait.Wait()
}

var _ Outcomes = (*Delivered)(nil)

// Outcome implements [Outcomes].
func (d *Delivered) Outcome(_ context.Context, environment string) (*Outcome, error) {
	return d.Environments[environment], d.Errors[environment]
}

// Read are the locations that were read: when one of them moves, a round may have to do.
func (d *Delivered) Read() []schedule.Location {
	var read []schedule.Location
	for _, name := range slices.Sorted(maps.Keys(d.Environments)) {
		if o := d.Environments[name]; o != nil {
			read = append(read, o.Read...)
		}
	}
	return read
}

// remember puts on record the builds that environments have and CI told nobody but Git: a later one may take their place there
// before the next environment has them.
func (c *Chain) remember(ctx context.Context, a *Application, d *Delivered) error {
	known, err := RecordedBuilds(ctx, c.Ledger, a.Subject())
	if err != nil {
		return err
	}
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	var failed error
	for _, name := range a.Environments() {
		o := d.Environments[name]
		if o == nil || o.GitOps == nil {
			continue
		}
		for _, b := range []Build{o.Build, o.GitOps.Build} {
			if _, ok := known[b.Commit]; ok || b.Commit == "" {
				continue
			}
			known[b.Commit] = b
			if err := RecordBuild(ctx, c.Ledger, a.Subject(), b, "", now()); err != nil {
				failed = errors.Join(failed, fmt.Errorf("record the build of %s: %w", short(b.Commit), err))
			}
		}
	}
	return failed
}
