package operator

import (
	"sync"
	"time"
)

// Share limits how many workers the control planes of one namespace use at the same time, so that a tenant does not keep the others waiting.
// One worker is for namespaces that are known to be quick.
type Share struct {
	// Workers is how many there are. A namespace has at most half of them, and at least one. // required
	Workers int

	mu      sync.Mutex
	running map[string]int
	// quick are the namespaces whose last control plane had its worker for a short time.
	quick map[string]bool
}

// quick is how long a quick namespace has a worker at most.
const quick = 30 * time.Second

// begin reports whether another control plane of a namespace gets a worker. If so, end has to be called after its rounds. A nil Share has no limit.
func (s *Share) begin(namespace string) (end func(), ok bool) {
	if s == nil {
		return func() {}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running, s.quick = map[string]int{}, map[string]bool{}
	}
	if s.running[namespace] >= max(1, s.Workers/2) || !s.quick[namespace] && s.others() >= max(1, s.Workers-1) {
		return nil, false
	}
	s.running[namespace]++
	began := time.Now()
	return func() { s.end(namespace, time.Since(began)) }, true
}

// others returns how many workers namespaces have that are not quick.
func (s *Share) others() int {
	n := 0
	for namespace, running := range s.running {
		if !s.quick[namespace] {
			n += running
		}
	}
	return n
}

// end gives a worker back after some time.
func (s *Share) end(namespace string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[namespace]--; s.running[namespace] == 0 {
		delete(s.running, namespace)
	}
	if took > quick {
		delete(s.quick, namespace)
	} else {
		s.quick[namespace] = true
	}
}
