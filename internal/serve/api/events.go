package api

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// SignalType is what a signal is about.
type SignalType string

// The types of signals.
const (
	SignalEnvironment SignalType = "environment" // commit, gate, open change, problems or plan of an environment
	SignalApplication SignalType = "application" // commit, gate, open change, problems or plan of an application
	SignalPromotion   SignalType = "promotion"   // a step of a commit in an environment
	SignalReport      SignalType = "report"      // what a cluster runs
	SignalCluster     SignalType = "cluster"     // what a cluster is: registered, something else, revoked
	// SignalReset says that signals were missed: whatever is shown has to be fetched anew.
	SignalReset SignalType = "reset"
)

// Signal says that something is not as it was. Fields that do not apply are empty.
type Signal struct {
	Type         SignalType `json:"-"`
	ControlPlane string     `json:"controlPlane,omitempty"`
	Environment  string     `json:"environment,omitempty"`
	// Application is the workload that it delivers.
	Application string `json:"application,omitempty"`
	Cluster     string `json:"cluster,omitempty"`
	// Commit is the promoted commit that it is about.
	Commit string `json:"commit,omitempty"`
	// Fetch are the addresses whose answers may be others now, besides the lists that these are in.
	// Whoever publishes may leave it empty: then it follows from the other fields.
	Fetch []string `json:"fetch,omitempty"`
}

// remembered is how many signals are kept for listeners that fell behind or come back.
const remembered = 8192

// Events passes signals on to listeners. Publishing costs the same however many listen and however slow they are: each
// reads at its own pace from what is remembered, and whoever falls behind that is told to start anew.
//
// The zero value is ready. It is safe for concurrent use and must not be copied.
type Events struct {
	mu sync.Mutex
	// ring has the last signals: number n is at n % remembered.
	ring []Signal
	// count is how many were ever published: their numbers are from 1 to count.
	count uint64
	// run tells the numbers of this process from those of others.
	run string
	// more is closed when something is published; nil while nobody waits for that.
	more   chan struct{}
	closed bool
}

// Publish tells all listeners. It does not wait for them.
func (e *Events) Publish(s Signal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ring == nil {
		e.ring = make([]Signal, remembered)
	}
	e.count++
	e.ring[e.count%remembered] = s
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
	if e.more != nil {
		close(e.more)
		e.more = nil
	}
}

// news is what was published since a listener looked last.
type news struct {
	signals []Signal
	// last is the number of the last signal, from which to go on.
	last uint64
	// missed says that there was more than is remembered.
	missed bool
	// more is closed when there is more.
	more   <-chan struct{}
	closed bool
}

// since returns what was published after a number, in that order. Of equal signals only the last is there.
func (e *Events) since(last uint64) news {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.more == nil {
		e.more = make(chan struct{})
	}
	n := news{last: e.count, more: e.more, closed: e.closed, missed: e.count-last > remembered}
	if n.missed {
		return n
	}
	seen := map[string]bool{}
	for i := e.count; i > last; i-- {
		s := e.ring[i%remembered]
		if key := s.key(); !seen[key] {
			seen[key] = true
			n.signals = append(n.signals, s)
		}
	}
	slices.Reverse(n.signals)
	return n
}

// now is the number of the last signal.
func (e *Events) now() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count
}

// id is what a listener says when it comes back. Numbers begin anew with every process.
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

// key is the same for signals of which one is enough.
func (s Signal) key() string {
	return strings.Join(append([]string{string(s.Type), s.ControlPlane, s.Environment, s.Application, s.Cluster, s.Commit}, s.Fetch...), "\x00")
}

// addresses are those whose answers a signal concerns.
func (s Signal) addresses() []string {
	if len(s.Fetch) > 0 {
		return s.Fetch
	}
	var all []string
	for _, part := range []struct{ folder, name string }{
		{"environments", s.Environment}, {"applications", s.Application}, {"workloads", s.Application}, {"clusters", s.Cluster}, {"promotions", s.Commit},
	} {
		if part.name != "" {
			all = append(all, Root+"/"+part.folder+"/"+escape(part.name))
		}
	}
	return all
}
