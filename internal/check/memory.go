package check

import (
	"reflect"
	"sync"
)

// Checkers keep one checker for each key, because a checker remembers the files without findings.
// It is safe for concurrent use. The zero value is ready to use; nil keeps nothing.
type Checkers struct {
	mu   sync.Mutex
	kept map[string]keptChecker
}

type keptChecker struct {
	policy  Policy
	checker *Checker
}

// Get returns the checker of a policy: the last one of the key, unless that is for another policy.
func (c *Checkers) Get(key string, p Policy) (*Checker, error) {
	if c == nil {
		return New(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.kept[key]; ok && reflect.DeepEqual(known.policy, p) {
		return known.checker, nil
	}
	made, err := New(p)
	if err != nil {
		return nil, err
	}
	if c.kept == nil {
		c.kept = map[string]keptChecker{}
	}
	c.kept[key] = keptChecker{p, made}
	return made, nil
}
