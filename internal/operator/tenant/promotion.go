package tenant

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/postgres"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/promote/measure"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// promotion is the connection of a tenant to its ledger. The zero value is not connected.
type promotion struct {
	plane  *plane.Promotion
	limits limits
}

// close stops verifications and closes the connections to the database. It does not wait: a database that does not
// answer delays its own tenant only.
func (p *promotion) close() {
	was := p.plane
	if was == nil {
		return
	}
	p.plane = nil
	go func() {
		was.Promoter.Close()
		_ = was.Ledger.Close() // what was written is stored
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
	return t.plane().Promote(ctx)
}

// connectLedger opens the ledger, or checks that its database answers: a round makes many queries, and would wait for
// each of them.
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
	if t.promotion.plane != nil {
		_, err := t.promotion.plane.Ledger.Steps(ctx, ledger.StepQuery{Subject: t.access.Spec.Source.Repository, Limit: 1})
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
	t.promotion.plane = t.promotionOf(l)
	return nil
}

// promotionOf connects the control plane to its ledger.
func (t *Tenant) promotionOf(l ledger.Ledger) *plane.Promotion {
	promoter := &promote.Promoter{Checks: t.checks, Checked: func(string) { t.access.Wake() }}
	p := plane.NewPromotion(t.commits, l, promoter)
	p.Inline, p.Strict = true, true
	p.Hosts.Add(t.access.Spec.Source.Repository, t.access.Spec.Forge.URL)
	if t.access.Spec.Ledger != nil {
		p.Chains = map[string][]string{t.access.Spec.Source.Repository: t.access.Spec.Ledger.Chain}
	}
	return p
}

// checks runs the verifications of a namespace, of which only some are measured at the same time. It outlives the
// namespace's tenants.
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
