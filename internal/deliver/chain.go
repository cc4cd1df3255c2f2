package deliver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Chain promotes the commits of applications through their environments: a round of each environment, and then one of
// promotion. It is safe for concurrent use, except for two rounds of the
// same application, which would do the same work twice.
type Chain struct {
	Deliverer *Deliverer        // required
	Promoter  *promote.Promoter // required
	Lines     promote.Lines     // required
	Ledger    Ledger            // required
	// Branches reads the branches of rings. // required
	Branches promote.RingBranches
	// Link returns the URL of an environment's page; optional.
	Link func(environment string) string
	// Now returns the current time. Default: time.Now.
	Now func() time.Time
}

// Delivered is the result of a chain's round.
type Delivered struct {
	// Environments are the results of the environments' rounds, Errors the errors of those that failed, by name.
	Environments map[string]*Outcome
	Errors       map[string]error
	// Promotion is nil if the round ended before promotion.
	Promotion *promote.Outcome
	// App is the application at the head of the source; nil if it cannot be read.
	App *Application
	// Commits are the commits of the source branch, oldest first. Builds are their builds, by commit: the latest that CI
	// recorded, which need not be the one that an environment has; see [Delivered.Build]. Both are empty if the round
	// ended before promotion.
	Commits []promote.Commit
	Builds  map[string]Build
	// Candidates are the builds that are promoted next, by environment.
	Candidates map[string]Build
	// Did lists what was done, in request.
	Did []string
}

// Round runs one round. A failure in one environment is part of the result and does not affect the others; the error
// is for failures that affect all of them.
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

// Follow runs a round of promotion only, with the environments' results from the last round. It returns a new result
// and does not change the last one.
func (c *Chain) Follow(ctx context.Context, request Request, last *Delivered) (*Delivered, error) {
	d := &Delivered{Environments: last.Environments, Errors: last.Errors, App: last.App}
	return d, c.promote(ctx, request, d)
}

// Settle runs rounds until one does nothing and no verification is running. Each round reads with a new loader. The result
// lists what all rounds did; it is nil if a round ended before promotion, and comes with an error if only some environments failed.
func (c *Chain) Settle(ctx context.Context, request Request, loader func() *Loader) (*Delivered, error) {
	var last *Delivered
	var did []string
	err := c.Promoter.Settle(ctx, func(ctx context.Context) (promote.Settled, error) {
		c.Deliverer.Loader = loader()
		d, err := c.Round(ctx, request)
		done := d.Did
		did = slices.Concat(did, done)
		last, d.Did = d, did
		return promote.Settled{Outcome: d.Promotion, Changed: len(done) > 0}, err
	})
	if last.Promotion == nil {
		return nil, err
	}
	return last, err
}

// Preview returns what rounds of environments would find, and changes nothing.
func (d *Deliverer) Preview(ctx context.Context, request Request, environments []string) *Delivered {
	found := &Delivered{Environments: map[string]*Outcome{}, Errors: map[string]error{}}
	for _, name := range environments {
		o, err := d.preview(ctx, RoundRequest{Request: request, Environment: name})
		found.Environments[name] = o
		if err != nil {
			found.Errors[name] = err
		}
	}
	return found
}

func (c *Chain) promote(ctx context.Context, request Request, d *Delivered) (err error) {
	pipeline := c.Pipeline(request, d)
	d.Promotion, err = c.Promoter.Round(ctx, pipeline)
	d.Commits, d.Builds = pipeline.line, pipeline.builds
	if d.Promotion == nil {
		return err
	}
	d.Did = append(d.Did, d.Promotion.Did...)
	d.Candidates = map[string]Build{}
	for _, s := range d.Promotion.Environments {
		if s.Candidate == "" {
			continue
		}
		b, failed := pipeline.Build(ctx, s.Environment, s.Candidate)
		if failed != nil { // without a build, it is not promoted; Move says why
			b = Build{Commit: s.Candidate}
		}
		d.Candidates[s.Environment] = b
	}
	return err
}

// Pipeline returns the application's pipeline, based on the results of the environments' rounds.
func (c *Chain) Pipeline(request Request, outcomes Outcomes) *Pipeline {
	return &Pipeline{Deliverer: c.Deliverer, Request: request, Lines: c.Lines, Outcomes: outcomes, Ledger: c.Ledger, Branches: c.Branches, Link: c.Link}
}

// environments runs the rounds of all environments.
func (c *Chain) environments(ctx context.Context, request Request, a *Application, d *Delivered) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	limit := make(chan struct{}, maxReaders)
	for _, name := range a.Environments() {
		limit <- struct{}{}
		wait.Go(func() {
			defer func() { <-limit }()
			o, err := c.Deliverer.Round(ctx, RoundRequest{Request: request, Environment: name})
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

// Build returns the build of a commit in an environment: the one that it has, else the one that CI recorded.
func (d *Delivered) Build(environment, commit string) Build {
	if b, ok := d.Environments[environment].of(commit); ok {
		return b
	}
	b := d.Builds[commit]
	b.Commit = commit
	return b
}

var _ Outcomes = (*Delivered)(nil)

// Outcome implements [Outcomes].
func (d *Delivered) Outcome(_ context.Context, environment string) (*Outcome, error) {
	return d.Environments[environment], d.Errors[environment]
}

// Read returns the locations that were read. If one of them moves, another round may be needed.
func (d *Delivered) Read() []schedule.Location {
	var read []schedule.Location
	for _, name := range slices.Sorted(maps.Keys(d.Environments)) {
		if o := d.Environments[name]; o != nil {
			read = append(read, o.Read...)
		}
	}
	return read
}

// Next returns when another round is needed without an event, because an automatic merge waits; zero for never.
func (d *Delivered) Next() time.Time {
	var next time.Time
	for _, o := range d.Environments {
		if o != nil && !o.Next.IsZero() && (next.IsZero() || o.Next.Before(next)) {
			next = o.Next
		}
	}
	return next
}

// remember records the builds in environments that are known from Git only. A newer build can replace them there
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
				failed = errors.Join(failed, fmt.Errorf("record the build of %s: %w", fleet.ShortCommit(b.Commit), err))
			}
		}
	}
	return failed
}
