package scheduling

import (
	"sync"

	"github.com/kalypso-io/kalypso/internal/bundle"
)

// Memory keeps the last bundle of each environment. It is only ever faster to have one.
// It is safe for concurrent use; the zero value is ready.
type Memory struct {
	mu      sync.Mutex
	bundles map[memoryKey]*bundle.Bundle
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
