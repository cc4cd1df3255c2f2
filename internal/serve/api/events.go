package api

import (
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// SignalType is the type of a signal.
type SignalType string

// The types of signals.
const (
	SignalEnvironment SignalType = "environment" // commit, gate, open change, problems or plan of an environment
	SignalApplication SignalType = "application" // commit, gate, open change, problems or plan of an application
	SignalPromotion   SignalType = "promotion"   // a step of a commit in an environment
	SignalReport      SignalType = "report"      // what a cluster runs
	SignalCluster     SignalType = "cluster"     // what a cluster is: registered, something else, revoked
	// SignalReset means that signals were missed: clients must fetch everything again.
	SignalReset SignalType = "reset"
)

// Signal means that something changed. Fields that do not apply are empty.
type Signal struct {
	Type         SignalType `json:"-"`
	ControlPlane string     `json:"controlPlane,omitempty"`
	Environment  string     `json:"environment,omitempty"`
	// Application is the name of its workload.
	Application string `json:"application,omitempty"`
	Cluster     string `json:"cluster,omitempty"`
	// Commit is the promoted commit.
	Commit string `json:"commit,omitempty"`
	// Fetch are the addresses whose answers may have changed, besides the lists that contain them. Default: derived from the
	// other fields.
	Fetch []string `json:"fetch,omitempty"`
}

// remembered is how many signals are kept for slow and returning listeners.
const remembered = 8192

// Events passes signals on to listeners. Publishing does not wait for listeners: each reads the kept signals at its own pace.
// A listener that falls too far behind has to start again.
//
// The zero value is ready. Events is safe for concurrent use and must not be copied.
type Events struct {
	// Relay passes signals of this server on to other replicas. It must not block. Optional.
	Relay func(Signal)
	// Registered is called when registrations of clusters may have changed. It must not block. Optional.
	Registered func()

	mu sync.Mutex
	// ring has the last signals: number n is at n % remembered.
	ring []Signal
	// count is the number of signals ever published, numbered from 1.
	count uint64
	// run identifies this process, because numbers start again with each process.
	run string
	// more is closed by the next signal; nil while no listener waits.
	more chan struct{}
	// moved is closed by the next signal that is not a report; nil while none waits for it.
	moved  chan struct{}
	closed bool
}

// Publish adds a signal, here and on other replicas. It does not wait for listeners.
func (e *Events) Publish(s Signal) {
	if e.Relay != nil {
		e.Relay(s)
	}
	e.Receive(s)
}

// Receive adds a signal of another replica. It does not wait for listeners.
func (e *Events) Receive(s Signal) {
	if e.Registered != nil && (s.Type == SignalCluster || s.Type == SignalReset) {
		e.Registered()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ring == nil {
		e.ring = make([]Signal, remembered)
	}
	e.count++
	e.ring[e.count%remembered] = s
	e.wake()
	if s.Type != SignalReport {
		e.move()
	}
}

func (e *Events) move() {
	if e.moved != nil {
		close(e.moved)
		e.moved = nil
	}
}

// moves returns a channel that is closed by the next signal that is not a report, and whether the streams have ended. Thousands of clusters report all the
// time, and what one reports is no reason for the others to ask what they should run.
func (e *Events) moves() (next <-chan struct{}, closed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.moved == nil {
		e.moved = make(chan struct{})
	}
	return e.moved, e.closed
}

// Close ends all streams, so that a stopping server does not wait for them.
func (e *Events) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.wake()
	e.move()
}

func (e *Events) wake() {
	if e.more != nil {
		close(e.more)
		e.more = nil
	}
}

// news are the signals since a listener's last read.
type news struct {
	signals []Signal
	// last is the number of the last signal, to continue from.
	last uint64
	// missed means that some signals are no longer kept.
	missed bool
	// more is closed when there are more.
	more   <-chan struct{}
	closed bool
}

// since returns the signals after a number, oldest first. Of equal signals, only the last is returned.
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

// only returns the parts of the signals that a client may know.
func (n news) only(part func(Signal) (Signal, bool)) news {
	var signals []Signal
	for _, s := range n.signals {
		if s, ok := part(s); ok {
			signals = append(signals, s)
		}
	}
	n.signals = signals
	return n
}

// now returns the number of the last signal.
func (e *Events) now() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count
}

// id returns the event ID of a number, unique across processes.
func (e *Events) id(number uint64) string { return e.process() + "-" + strconv.FormatUint(number, 10) }

// number parses an event ID. ok is false if it is invalid or from another process.
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

// key is equal for signals that can be merged.
func (s Signal) key() string {
	return strings.Join(append([]string{string(s.Type), s.ControlPlane, s.Environment, s.Application, s.Cluster, s.Commit}, s.Fetch...), "\x00")
}

// addresses returns Fetch or its default.
func (s Signal) addresses() []string {
	if len(s.Fetch) > 0 {
		return s.Fetch
	}
	var all []string
	for _, part := range []struct{ folder, name string }{
		{"environments", s.Environment}, {"applications", s.Application}, {"workloads", s.Application}, {"clusters", s.Cluster}, {"promotions", s.Commit},
	} {
		if part.name != "" {
			all = append(all, Root+"/"+part.folder+"/"+url.PathEscape(part.name))
		}
	}
	return all
}
