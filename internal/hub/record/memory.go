package record

import "sync"

// memory keeps what is known by the hash of a file or folder. It is emptied when it holds too much, which a server may see
// after weeks. It is safe for concurrent use.
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

// maxRemembered bounds the sum of weights: files, and what they say.
const maxRemembered = 512 << 10

// put keeps a value; nothing is known by an empty hash.
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

// said is what a file says, or why it cannot be read.
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

// fileMemory is what is known of files and folders, whatever branch they are on.
type fileMemory struct {
	inventories  memory[found]
	listings     memory[said[listing]]
	descriptors  memory[found]
	descriptions memory[said[[]description]]
}
