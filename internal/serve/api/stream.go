package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// pace is the least time between two writes to a listener: what happens meanwhile comes at once, and once.
	pace = 250 * time.Millisecond
	// heartbeat is how often a listener hears that the line is alive.
	heartbeat = 15 * time.Second
	// slow is how long a write to a listener may take before it is dropped.
	slow = 10 * time.Second
	// maxListeners bounds how many listen at once.
	maxListeners = 2000
)

// stream serves [Events] to listeners, as server-sent events.
type stream struct {
	events *Events
	// still says whether a listener may still listen; asked again while it does.
	still     func(r *http.Request) bool
	listeners atomic.Int64
}

// admit counts a listener; done ends that. It says no to the one too many.
func (s *stream) admit() (done func(), ok bool) {
	if s.listeners.Add(1) > maxListeners {
		s.listeners.Add(-1)
		return nil, false
	}
	return func() { s.listeners.Add(-1) }, true
}

// serve writes signals until the listener goes, is too slow, may no longer listen, or the events are closed.
func (s *stream) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // some proxies keep what is short until there is more
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	out := &sink{w: w, control: http.NewResponseController(w)}
	last, known := s.begin(r.Header.Get("Last-Event-ID"))
	fmt.Fprint(out, "retry: 3000\n")
	if !known {
		out.signal(s.events.id(last), Signal{Type: SignalReset})
	}
	// Without data it is no event, but the listener remembers where it was.
	fmt.Fprintf(out, ": listening\nid: %s\n\n", s.events.id(last))
	s.follow(r, out, last)
}

// begin is where a listener goes on; known is false when what it missed is not.
func (s *stream) begin(lastEventID string) (last uint64, known bool) {
	if lastEventID == "" {
		return s.events.now(), true
	}
	if number, ok := s.events.number(lastEventID); ok {
		return number, true
	}
	return s.events.now(), false
}

func (s *stream) follow(r *http.Request, out *sink, last uint64) {
	for out.flush() && s.still(r) {
		n := s.events.since(last)
		if n.closed {
			return
		}
		if n.last == last {
			if !await(r.Context(), n.more, heartbeat) {
				return
			}
			if s.events.now() == last {
				fmt.Fprint(out, ": alive\n\n")
			}
			continue
		}
		last = n.last
		out.news(n, s.events.id(last))
		if !out.flush() || !await(r.Context(), nil, pace) {
			return
		}
	}
}

// await waits for something or for a time. It says no when the listener goes.
func await(ctx context.Context, something <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-something:
	case <-timer.C:
	}
	return true
}

// sink is the line to a listener. After the first error it writes nothing.
type sink struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

var _ io.Writer = (*sink)(nil)

// Write implements [io.Writer].
func (s *sink) Write(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(slow)) // where there is no connection there is no deadline
	n, err := s.w.Write(b)
	s.err = err
	return n, err
}

// news writes what was published. Only the last signal has an ID: whoever is cut off before it gets all of them again.
func (s *sink) news(n news, id string) {
	if n.missed {
		s.signal(id, Signal{Type: SignalReset})
		return
	}
	for i, signal := range n.signals {
		if i < len(n.signals)-1 {
			s.signal("", signal)
		} else {
			s.signal(id, signal)
		}
	}
}

func (s *sink) signal(id string, signal Signal) {
	signal.Fetch = signal.addresses()
	data, err := json.Marshal(signal)
	if err != nil {
		s.err = err
		return
	}
	if id != "" {
		fmt.Fprintf(s, "id: %s\n", id)
	}
	fmt.Fprintf(s, "event: %s\ndata: %s\n\n", signal.Type, data)
}

// flush sends what was written, and reports whether the line is alive.
func (s *sink) flush() bool {
	if s.err == nil {
		s.err = s.control.Flush()
	}
	return s.err == nil
}
