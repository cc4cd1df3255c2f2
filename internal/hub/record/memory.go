package record

import "sync"

// memory caches values by the hash of a file or folder. It is cleared when it is full. It is safe for concurrent use.
type memory[V any] struct {
	mu     sync.Mutex
	values map[string]V
	weight int
}

func (m *memory[V]) get(hash string) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[hash]
	return v, ok
}

// maxRemembered limits the sum of weights.
const maxRemembered = 512 << 10

// put stores a value, unless the hash is empty.
func (m *memory[V]) put(hash string, v V, weight int) {
	if hash == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil || m.weight+weight > maxRemembered {
		m.values, m.weight = map[string]V{}, 0
	}
	m.values[hash] = v
	m.weight += weight
}

// said is the parsed content of a file, or why it cannot be read.
type said[V any] struct {
	value V
	bad   *unreadable
}

func (s said[V]) result() (V, error) {
	if s.bad != nil {
		return s.value, s.bad
	}
	return s.value, nil
}

// fileMemory caches content of files and folders of all branches.
type fileMemory struct {
	inventories  memory[found]
	listings     memory[said[listing]]
	descriptors  memory[found]
	descriptions memory[said[[]description]]
}
