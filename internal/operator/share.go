package operator

import "sync"

// Share limits how many rounds of one namespace run at the same time, so that a tenant does not use all workers.
type Share struct {
	// Most is the limit of a namespace. // required
	Most int

	mu      sync.Mutex
	running map[string]int
}

// begin reports whether another round of a namespace can run. If it can, end has to be called after it. A nil Share has no limit.
func (s *Share) begin(namespace string) (end func(), ok bool) {
	if s == nil {
		return func() {}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = map[string]int{}
	}
	if s.running[namespace] >= s.Most {
		return nil, false
	}
	s.running[namespace]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running[namespace]--; s.running[namespace] == 0 {
			delete(s.running, namespace)
		}
	}, true
}
