package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
)

// appChain is an application with a ledger: what takes its commits along its environments.
type appChain struct {
	session *appSession
	chain   *deliver.Chain
	checked chan struct{}
}

// newChain connects an application to a ledger. Close it.
func (s *appSession) newChain(d *deliver.Deliverer, l ledger.Ledger, t *terminal.Terminal) *appChain {
	c := &appChain{session: s, checked: make(chan struct{}, 1)}
	promoter := &promote.Promoter{
		Ledger: l, Ancestry: &repository.Ancestry{Client: s.client}, Checks: &verify.Runner{}, Now: t.Now,
		Checked: func(string) {
			select {
			case c.checked <- struct{}{}:
			default:
			}
		},
	}
	d.Memory = &deliver.Memory{}
	c.chain = &deliver.Chain{Deliverer: d, Promoter: promoter, Lines: repository.Lines{Client: s.client}, Ledger: l, Now: t.Now}
	return c
}

func (c *appChain) close() { c.chain.Promoter.Close() }

// again makes the next round read everything anew.
func (c *appChain) again() {
	c.chain.Deliverer.Loader = c.session.again()
}

// rounds makes rounds until one has nothing to do and no verification runs. With an error there is a result where only some
// environments are concerned.
func (c *appChain) rounds(ctx context.Context, timeout time.Duration) (*deliver.Delivered, error) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	var did []string
	for range maxRounds {
		c.again()
		d, err := c.chain.Round(ctx, c.session.request)
		if d.Promotion == nil || ctx.Err() != nil {
			return nil, errors.Join(err, context.Cause(ctx))
		}
		some := len(d.Did) > 0
		did = slices.Concat(did, d.Did)
		d.Did = did
		if some {
			continue
		}
		if err != nil || !verifying(d.Promotion) {
			return d, err // what went wrong in one environment has stopped no other
		}
		select {
		case <-ctx.Done():
			return d, nil // they are run again by the next one
		case <-c.checked:
		}
	}
	return nil, fmt.Errorf("after %d rounds there is still something to do; run it again", maxRounds)
}

// lookedAt are environments as a look finds them, without doing anything.
type lookedAt struct {
	deliverer *deliver.Deliverer
	request   deliver.Request
	found     map[string]*deliver.Outcome
	errors    map[string]error
}

var _ deliver.Outcomes = (*lookedAt)(nil)

// look looks at the environments one after the other.
func look(ctx context.Context, d *deliver.Deliverer, r deliver.Request, names []string) *lookedAt {
	l := &lookedAt{deliverer: d, request: r, found: map[string]*deliver.Outcome{}, errors: map[string]error{}}
	for _, name := range names {
		l.found[name], l.errors[name] = d.Look(ctx, deliver.Order{Request: r, Environment: name})
	}
	return l
}

// Outcome implements [deliver.Outcomes].
func (l *lookedAt) Outcome(_ context.Context, environment string) (*deliver.Outcome, error) {
	return l.found[environment], l.errors[environment]
}
