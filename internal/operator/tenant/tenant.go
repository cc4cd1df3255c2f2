package tenant

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/check/scanner"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/plane"
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
	board   *plane.Board
	charts  *sandbox.Pool // shared by all tenants
	allowed Allowed
	answer  time.Duration
	checks  *checks // of the namespace
	// promotion is used only if the control plane has a ledger.
	promotion promotion
	// publisher publishes the merged commits of environments.
	publisher *plane.Publisher
	// applications is nil until they are delivered, which only Deliver does. turns is when each had its last one.
	applications *plane.Applications
	scanner      *scanner.Scanner
	turns        map[string]time.Time
	verifyHosts  []string
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

// close waits for running rounds, closes the connections and releases the clones. If the tenant is gone, it removes
// their folder.
func (t *Tenant) close(gone bool) {
	t.closing.Lock()
	defer t.closing.Unlock()
	t.closed = true
	t.promotion.close()
	if t.scanner != nil {
		t.scanner.Close()
	}
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

// plane returns the control plane, for one round.
func (t *Tenant) plane() *plane.Plane {
	a := plane.Access{
		ControlPlane: t.access.Spec.Source.Repository, Commits: t.commits, Forges: t.forges, Board: t.board,
		Charts: &sandbox.Runner{Pool: t.charts}, Cache: t.cache, Memory: t.memory, Promotion: t.promotion.plane,
		Applications: t.applications, Publisher: t.publisher,
		// Charts are rendered for the namespace, whose control planes share its turns.
		Share: func(ctx context.Context, _ string) context.Context { return sandbox.For(ctx, t.access.Name.Namespace) },
		Forks: t.access.Spec.PlanPullRequests == v1alpha1.PlanAll,
	}
	if t.access.Ledger.IsZero() { // nothing needs the results of rounds
		a.Board = &plane.Board{}
	}
	return plane.Open(a)
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
	return t.plane().Environments(ctx, before...)
}

// Round implements [operator.Tenant].
func (t *Tenant) Round(ctx context.Context, documents *operator.Documents, environment string) (*schedule.Outcome, error) {
	end, err := t.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	round := plane.Round{Request: schedule.Request{Environment: environment}}
	if documents != nil {
		round.ControlPlane, round.Main, round.Branch = t.access.Spec.Source.Objects.Repository, mainObjects, branchObjects
		round.From = &objects{Reader: repository.NewReader(t.client), documents: documents}
	}
	return t.plane().Round(ctx, round)
}
