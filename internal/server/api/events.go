package api

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// EventType is what a change is about.
type EventType string

// The types of changes.
const (
	EnvironmentChanged EventType = "environment" // commit, gate, change, problems or plan of an environment
	PromotionChanged   EventType = "promotion"   // a step of a commit in an environment
	ReportChanged      EventType = "report"      // what a cluster runs
	ClusterChanged     EventType = "cluster"     // what a cluster is: registered, changed, revoked
	// Reset says that events were missed: whatever is shown has to be fetched anew.
	Reset EventType = "reset"
)

// Change says that something changed. What it is about is in the fields; empty ones do not matter.
type Change struct {
	Type         EventType `json:"-"`
	ControlPlane string    `json:"controlPlane,omitempty"`
	Environment  string    `json:"environment,omitempty"`
	Cluster      string    `json:"cluster,omitempty"`
	Commit       string    `json:"commit,omitempty"`
	// Fetch are the addresses whose answers may have changed. It is filled in when it is empty.
	Fetch []string `json:"fetch,omitempty"`
}

// remembered is how many changes are kept for listeners that fell behind or come back.
const remembered = 8192

// Events passes changes on to listeners. Publishing costs the same however many listen and however slow they are: each
// reads at its own pace from what is remembered, and whoever falls behind that is told to start anew.
//
// The zero value is ready. It is safe for concurrent use and must not be copied.
type Events struct {
	mu sync.Mutex
	// ring has the last changes: number n is at n % remembered.
	ring []Change
	// count is how many were ever published: their numbers are from 1 to count.
	count uint64
	// run tells the numbers of this process from those of others.
	run string
	// changed is closed when there is something new; nil while nobody waits.
	changed chan struct{}
	closed  bool
}

// Publish tells all listeners about a change. It does not wait for them.
func (e *Events) Publish(c Change) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ring == nil {
		e.ring = make([]Change, remembered)
	}
	e.count++
	e.ring[e.count%remembered] = c
	e.wake()
}

// Close ends all listening, so that a server that stops need not wait for listeners.
func (e *Events) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.wake()
}

func (e *Events) wake() {
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// news is what happened since a listener looked last.
type news struct {
	changes []Change
	// last is the number of the last change, from which to go on.
	last uint64
	// missed says that there was more, which is forgotten.
	missed bool
	// changed is closed when there is more.
	changed <-chan struct{}
	closed  bool
}

// since returns what was published after a number, each change once: of equal ones the last counts.
func (e *Events) since(last uint64) news {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	n := news{last: e.count, changed: e.changed, closed: e.closed}
	if e.count-last > remembered {
		n.missed = true
		return n
	}
	seen := map[string]bool{}
	for i := e.count; i > last; i-- {
		c := e.ring[i%remembered]
		key := strings.Join([]string{string(c.Type), c.ControlPlane, c.Environment, c.Cluster, c.Commit}, "\x00")
		if !seen[key] {
			seen[key] = true
			n.changes = append(n.changes, c)
		}
	}
	// The order in which they happened.
	for i, j := 0, len(n.changes)-1; i < j; i, j = i+1, j-1 {
		n.changes[i], n.changes[j] = n.changes[j], n.changes[i]
	}
	return n
}

// now is the number of the last change.
func (e *Events) now() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count
}

// id is how a listener calls a number when it comes back. Numbers begin anew with every process.
func (e *Events) id(number uint64) string { return e.process() + "-" + strconv.FormatUint(number, 10) }

// number reads an ID; ok is false for one of another process, or none.
func (e *Events) number(id string) (number uint64, ok bool) {
	run, text, _ := strings.Cut(id, "-")
	number, err := strconv.ParseUint(text, 10, 64)
	return number, err == nil && run == e.process() && number <= e.now()
}

func (e *Events) process() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.run == "" {
		var bits [6]byte
		_, _ = rand.Read(bits[:]) // never fails
		e.run = hex.EncodeToString(bits[:])
	}
	return e.run
}

// addresses are those whose answers a change concerns.
func (c Change) addresses() []string {
	if len(c.Fetch) > 0 {
		return c.Fetch
	}
	var all []string
	add := func(name, format string) {
		if name != "" {
			all = append(all, fmt.Sprintf(format, escape(name)))
		}
	}
	add(c.Environment, Root+"/environments/%s")
	add(c.Cluster, Root+"/clusters/%s")
	add(c.Commit, Root+"/promotions/%s")
	return all
}
