package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/delivery"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promoting"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/terminal"
	"github.com/kalypso-io/kalypso/internal/verify"
)

// appChain is an application with a ledger: what takes its commits along its environments.
type appChain struct {
	session *appSession
	chain   *delivery.Chain
	checked chan struct{}
}

// newChain connects an application to a ledger. Close it.
func (s *appSession) newChain(d *delivery.Deliverer, l ledger.Ledger, t *terminal.Terminal) *appChain {
	c := &appChain{session: s, checked: make(chan struct{}, 1)}
	promoter := &promoting.Promoter{
		Ledger: l, Ancestry: &repository.Ancestry{Client: s.client}, Checks: &verify.Runner{}, Now: t.Now,
		Checked: func(string) {
			select {
			case c.checked <- struct{}{}:
			default:
			}
		},
	}
	d.Memory = &delivery.Memory{}
	c.chain = &delivery.Chain{Deliverer: d, Promoter: promoter, Lines: repository.Lines{Client: s.client}, Ledger: l, Now: t.Now}
	return c
}

func (c *appChain) close() { c.chain.Promoter.Close() }

// again makes the next round read everything anew.
func (c *appChain) again() {
	c.chain.Deliverer.Loader = c.session.again()
}

// rounds makes rounds until one has nothing to do and no verification runs. With an error there is a result where only some
// environments are concerned.
func (c *appChain) rounds(ctx context.Context, timeout time.Duration) (*delivery.Delivered, error) {
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
	deliverer *delivery.Deliverer
	request   delivery.Request
	found     map[string]*delivery.Outcome
	errors    map[string]error
}

var _ delivery.Outcomes = (*lookedAt)(nil)

// look looks at the environments one after the other.
func look(ctx context.Context, d *delivery.Deliverer, r delivery.Request, names []string) *lookedAt {
	l := &lookedAt{deliverer: d, request: r, found: map[string]*delivery.Outcome{}, errors: map[string]error{}}
	for _, name := range names {
		l.found[name], l.errors[name] = d.Look(ctx, delivery.Order{Request: r, Environment: name})
	}
	return l
}

// Outcome implements [delivery.Outcomes].
func (l *lookedAt) Outcome(_ context.Context, environment string) (*delivery.Outcome, error) {
	return l.found[environment], l.errors[environment]
}
