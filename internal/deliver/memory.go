package deliver

import (
	"reflect"
	"sync"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
)

// Memory keeps the last rendered result of each environment of each application, and the checkers with their caches.
// It only makes rounds faster. It is safe for concurrent use. The zero value is ready to use; nil keeps nothing.
type Memory struct {
	mu       sync.Mutex
	results  map[memoryKey]*chart.Result
	checkers map[string]remembered
}

type memoryKey struct {
	subject, environment string
	part                 int
}

// remembered is a checker and its policy.
type remembered struct {
	policy  check.Policy
	checker *check.Checker
}

func (m *Memory) get(key memoryKey) *chart.Result {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.results[key]
}

func (m *Memory) put(key memoryKey, result *chart.Result) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.results == nil {
		m.results = map[memoryKey]*chart.Result{}
	}
	m.results[key] = result
}

// checker returns the checker of a policy. It reuses the earlier one if the policy has not changed.
func (m *Memory) checker(policy check.Policy) (*check.Checker, error) {
	if m == nil {
		return check.New(policy)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if was, ok := m.checkers[policy.Environment]; ok && reflect.DeepEqual(was.policy, policy) {
		return was.checker, nil
	}
	checker, err := check.New(policy)
	if err != nil {
		return nil, err
	}
	if m.checkers == nil {
		m.checkers = map[string]remembered{}
	}
	m.checkers[policy.Environment] = remembered{policy, checker}
	return checker, nil
}
