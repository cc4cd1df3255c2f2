package tenant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/postgres"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/promote/measure"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// promotion is the connection of a tenant to its ledger, and what promotion needs between two rounds. The zero value is not connected.
type promotion struct {
	chain  *repository.Chain
	limits limits
	// rounds are the results of the last rounds, by environment.
	mu     sync.Mutex
	rounds map[string]scheduled
	// names are the environments of the control plane.
	names []string
}

// scheduled is the result of an environment's last round.
type scheduled struct {
	outcome *schedule.Outcome
	err     error
	// read is the result of the last round that could read the environment; nil before it.
	read *schedule.Outcome
}

// note keeps the result of an environment's round for promotion.
func (p *promotion) note(environment string, o *schedule.Outcome, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rounds == nil {
		p.rounds = map[string]scheduled{}
	}
	read := p.rounds[environment].read
	if err == nil && o != nil && o.Loaded != nil {
		read = o
	}
	p.rounds[environment] = scheduled{o, err, read}
}

var _ promote.Rollouts = (*promotion)(nil)

// Rollout implements [promote.Rollouts]: nothing is promoted to or from an environment whose last round failed.
func (p *promotion) Rollout(_ context.Context, environment string) (*schedule.Outcome, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.rounds[environment]
	return last.outcome, last.err
}

// keep forgets the rounds of environments that the control plane does not have any more.
func (p *promotion) keep(names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = names
	maps.DeleteFunc(p.rounds, func(name string, _ scheduled) bool { return !slices.Contains(names, name) })
}

// close stops verifications and closes the connections to the database. It does not wait: a database that does not answer delays its own
// tenant only.
func (p *promotion) close() {
	chain := p.chain
	if chain == nil {
		return
	}
	p.chain = nil
	go func() {
		chain.Promoter.Close()
		_ = chain.Ledger.Close() // what was written is stored
	}()
}

// Promote implements [operator.Tenant].
func (t *Tenant) Promote(ctx context.Context) (*promote.Outcome, error) {
	end, err := t.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	t.promotion.limits.left.Store(maxRead)
	if err := t.connectLedger(ctx); err != nil {
		return nil, err
	}
	return t.promotion.chain.Round(ctx, t.loader(nil), &t.promotion)
}

// connectLedger opens the ledger, or checks that its database answers: a round makes many queries, and would wait for each of them.
func (t *Tenant) connectLedger(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, t.answer)
	defer cancel()
	err := t.openLedger(bounded)
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, operator.ErrNotAllowed):
		return err
	case bounded.Err() != nil:
		return fmt.Errorf("%w: the database did not answer within %s", operator.ErrLedger, t.answer)
	}
	return fmt.Errorf("%w: %w", operator.ErrLedger, err)
}

func (t *Tenant) openLedger(ctx context.Context) error {
	if t.promotion.chain != nil {
		_, err := t.promotion.chain.Ledger.Steps(ctx, ledger.StepQuery{Subject: t.access.Spec.Source.Repository, Limit: 1})
		return err
	}
	at, err := t.allowed.ledgerURL(t.access.Ledger.Reveal())
	if err != nil {
		return fmt.Errorf("spec.ledger: %w", err)
	}
	l, err := postgres.Open(ctx, at, t.promotion.limits.set)
	if err != nil {
		return errors.New(secret.Redact(err.Error()))
	}
	t.promotion.chain = t.chainOf(l)
	return nil
}

// chainOf connects the control plane to its ledger.
func (t *Tenant) chainOf(l ledger.Ledger) *repository.Chain {
	o := repository.ChainOptions{
		ControlPlane: t.access.Spec.Source.Repository, Committer: t.commits, Forges: t.forges, Ledger: l, Checks: t.checks, Checked: t.access.Wake, Now: time.Now,
	}
	if t.access.Spec.Ledger != nil {
		o.Order = t.access.Spec.Ledger.Chain
	}
	return repository.NewChain(o)
}

// checks runs the verifications of a namespace, of which only some are measured at the same time. It outlives the namespace's tenants.
type checks struct {
	runner *verify.Runner
	places chan struct{}
}

// maxChecks is how many verifications of a namespace are measured at the same time.
const maxChecks = 4

var _ promote.Checks = (*checks)(nil)

// Run implements [promote.Checks].
func (c *checks) Run(ctx context.Context, check decide.RunCheck) (measure.Evidence, error) {
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	case <-ctx.Done():
		return measure.Evidence{}, ctx.Err()
	}
	return c.runner.Run(ctx, check)
}

// checksOf returns the verifications of a namespace. The caller holds the lock.
func (t *Tenants) checksOf(namespace string) *checks {
	if t.checks == nil {
		t.checks = map[string]*checks{}
	}
	if t.checks[namespace] == nil {
		t.checks[namespace] = &checks{runner: &verify.Runner{Hosts: t.VerifyHosts}, places: make(chan struct{}, maxChecks)}
	}
	return t.checks[namespace]
}
