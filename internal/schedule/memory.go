package schedule

import (
	"reflect"
	"sync"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// Memory keeps the last bundle of each environment. It is only ever faster to have one.
// It is safe for concurrent use; the zero value is ready.
type Memory struct {
	mu      sync.Mutex
	bundles map[memoryKey]*bundle.Bundle
	// checkers know the files in which they found nothing; one that was made of another policy is replaced.
	checkers map[memoryKey]policyChecker
}

type policyChecker struct {
	policy  check.Policy
	checker *check.Checker
}

type memoryKey struct{ controlPlane, environment string }

func (m *Memory) get(r Request) *bundle.Bundle {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bundles[memoryKey{r.ControlPlane, r.Environment}]
}

func (m *Memory) put(r Request, b *bundle.Bundle) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bundles == nil {
		m.bundles = map[memoryKey]*bundle.Bundle{}
	}
	m.bundles[memoryKey{r.ControlPlane, r.Environment}] = b
}

// checker returns the checker of a policy, the one of before where that is the same.
func (m *Memory) checker(r Request, p check.Policy) (*check.Checker, error) {
	if m == nil {
		return check.New(p)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := memoryKey{r.ControlPlane, r.Environment}
	if known, ok := m.checkers[key]; ok && reflect.DeepEqual(known.policy, p) {
		return known.checker, nil
	}
	made, err := check.New(p)
	if err != nil {
		return nil, err
	}
	if m.checkers == nil {
		m.checkers = map[memoryKey]policyChecker{}
	}
	m.checkers[key] = policyChecker{p, made}
	return made, nil
}
