package schedule

import (
	"sync"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// Memory keeps the last bundle of each environment, and the checkers with their caches.
// It only makes drafts faster. It is safe for concurrent use. The zero value is ready to use; nil keeps nothing.
type Memory struct {
	bundles  sync.Map // of *bundle.Bundle, by memoryKey
	audits   sync.Map // of *Audit, by memoryKey
	checkers check.Checkers
}

type memoryKey struct{ controlPlane, environment string }

func (m *Memory) get(r Request) *bundle.Bundle {
	if m == nil {
		return nil
	}
	b, _ := m.bundles.Load(memoryKey{r.ControlPlane, r.Environment})
	known, _ := b.(*bundle.Bundle)
	return known
}

// published returns what the GitOps branch held when the last bundle was built; nil if that is not known.
func (m *Memory) published(r Request) *bundle.Published {
	if b := m.get(r); b != nil {
		return b.Published()
	}
	return nil
}

func (m *Memory) put(r Request, b *bundle.Bundle) {
	if m != nil {
		m.bundles.Store(memoryKey{r.ControlPlane, r.Environment}, b)
	}
}

// checker returns the checker of an environment's policy.
func (m *Memory) checker(r Request, p check.Policy) (*check.Checker, error) {
	if m == nil {
		return check.New(p)
	}
	return m.checkers.Get(r.ControlPlane+"\n"+r.Environment, p)
}

// audit returns the last audit of an environment; nil if there was none.
func (m *Memory) audit(r Request) *Audit {
	if m == nil {
		return nil
	}
	a, _ := m.audits.Load(memoryKey{r.ControlPlane, r.Environment})
	known, _ := a.(*Audit)
	return known
}

func (m *Memory) audited(r Request, a *Audit) {
	if m != nil {
		m.audits.Store(memoryKey{r.ControlPlane, r.Environment}, a)
	}
}
