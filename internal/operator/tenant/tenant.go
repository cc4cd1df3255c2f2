package tenant

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Tenant is the connection of one control plane.
type Tenant struct {
	access operator.Access
	id     string
	folder string

	client  *git.Client
	forges  forge.Forges
	commits repository.Committer
	cache   *fleet.Cache
	memory  *schedule.Memory
	charts  *sandbox.Pool // shared by all tenants
	allowed Allowed
	answer  time.Duration
	checks  *checks // of the namespace
	// promotion is used only if the control plane has a ledger.
	promotion promotion
	// deliveries is used only if its applications are delivered, and only by Deliver.
	deliveries  deliveries
	verifyHosts []string
	// planned are the open pull requests of the control plane, by number. Only PlanPullRequests uses it.
	planned map[int]planned

	// closing is locked by rounds for reading.
	closing sync.RWMutex
	closed  bool
}

var _ operator.Tenant = (*Tenant)(nil)

// errClosed is returned by a round of a tenant whose access has changed. The next round has the new access.
var errClosed = errors.New("the access of the control plane has changed")

// begin keeps the tenant open until end is called.
func (t *Tenant) begin() (end func(), err error) {
	t.closing.RLock()
	if t.closed {
		t.closing.RUnlock()
		return nil, errClosed
	}
	return t.closing.RUnlock, nil
}

// close waits for running rounds, closes the connections and releases the clones. If the tenant is gone, it removes their folder.
func (t *Tenant) close(gone bool) {
	t.closing.Lock()
	defer t.closing.Unlock()
	t.closed = true
	t.promotion.close()
	_ = t.client.Close() // only files that were read
	if gone {
		_ = os.RemoveAll(t.folder) // a cache
	}
}

// empty removes the clones. It reports false if a round uses them.
func (t *Tenant) empty() bool {
	if !t.closing.TryLock() {
		return false
	}
	defer t.closing.Unlock()
	_ = t.client.Close()
	_ = os.RemoveAll(t.folder)
	return true
}

// loader reads environments: from the repository, or from documents.
func (t *Tenant) loader(documents *operator.Documents) *schedule.Loader {
	reader := repository.NewReader(t.client)
	loader := &schedule.Loader{Repositories: reader, Cache: t.cache}
	if documents != nil {
		loader.Repositories = &objects{Reader: reader, documents: documents}
	}
	return loader
}

// drafter makes drafts, of which only a limited number render charts at the same time.
func (t *Tenant) drafter(documents *operator.Documents) *schedule.Drafter {
	return &schedule.Drafter{Loader: t.loader(documents), Charts: &sandbox.Runner{Pool: t.charts}}
}

// Environments implements [operator.Tenant].
func (t *Tenant) Environments(ctx context.Context, documents *operator.Documents, before []string) ([]string, error) {
	if documents != nil {
		return []string{t.access.Spec.Source.Objects.Environment}, nil
	}
	end, err := t.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	names, problems, err := t.loader(nil).Environments(ctx, schedule.Request{ControlPlane: t.access.Spec.Source.Repository})
	if err != nil {
		return nil, err
	}
	names = schedule.WithUnreadable(names, problems, before)
	t.promotion.keep(names)
	return names, nil
}

// Round implements [operator.Tenant].
func (t *Tenant) Round(ctx context.Context, documents *operator.Documents, environment string) (*schedule.Outcome, error) {
	end, err := t.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	request := schedule.Request{ControlPlane: t.access.Spec.Source.Repository, Environment: environment}
	if documents != nil {
		request.ControlPlane, request.Main, request.Branch = t.access.Spec.Source.Objects.Repository, mainObjects, branchObjects
	}
	p := &schedule.Proposer{Drafter: t.drafter(documents), Committer: t.commits, Forges: t.forges}
	p.Drafter.Memory = t.memory
	outcome, err := p.Round(sandbox.For(ctx, t.access.Name.Namespace), request)
	if !t.access.Ledger.IsZero() {
		t.promotion.note(environment, outcome, err)
	}
	return outcome, err
}
