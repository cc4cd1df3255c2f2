package deliver

import (
	"sync"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Memory keeps the last rendered result of each environment of each application, and the checkers with their caches.
// It only makes rounds faster. It is safe for concurrent use. The zero value is ready to use; nil keeps nothing.
type Memory struct {
	results  sync.Map // of *chart.Result, by memoryKey
	audits   sync.Map // of *schedule.Audit, by memoryKey without a part
	checkers check.Checkers
}

type memoryKey struct {
	subject, environment string
	part                 int
}

func (m *Memory) get(key memoryKey) *chart.Result {
	if m == nil {
		return nil
	}
	result, _ := m.results.Load(key)
	known, _ := result.(*chart.Result)
	return known
}

func (m *Memory) put(key memoryKey, result *chart.Result) {
	if m != nil {
		m.results.Store(key, result)
	}
}

// checker returns the checker of an environment's policy.
func (m *Memory) checker(policy check.Policy) (*check.Checker, error) {
	if m == nil {
		return check.New(policy)
	}
	return m.checkers.Get(policy.Environment, policy)
}

// audit returns the last audit of an environment; nil if there was none.
func (m *Memory) audit(key memoryKey) *schedule.Audit {
	if m == nil {
		return nil
	}
	a, _ := m.audits.Load(key)
	known, _ := a.(*schedule.Audit)
	return known
}

func (m *Memory) audited(key memoryKey, a *schedule.Audit) {
	if m != nil {
		m.audits.Store(key, a)
	}
}
