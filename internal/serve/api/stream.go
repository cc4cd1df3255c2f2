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
	// pace is the minimum time between two writes to a listener. Signals in between are merged.
	pace = 250 * time.Millisecond
	// heartbeat is the interval of comments that keep the connection alive.
	heartbeat = 15 * time.Second
	// slow is the timeout of a write to a listener.
	slow = 10 * time.Second
	// maxListeners limits the listeners.
	maxListeners = 2000
)

// stream serves [Events] to listeners, as server-sent events.
type stream struct {
	events *Events
	// allowed reports whether a client may still listen.
	allowed func(r *http.Request) bool
	// restrict returns what the client of a request may know of a signal; nil if it sees all signals. Optional.
	restrict  func(r *http.Request) func(Signal) (part Signal, ok bool)
	listeners atomic.Int64
}

// admit counts a listener until done is called. ok is false if there are too many.
func (s *stream) admit() (done func(), ok bool) {
	if s.listeners.Add(1) > maxListeners {
		s.listeners.Add(-1)
		return nil, false
	}
	return func() { s.listeners.Add(-1) }, true
}

// serve writes signals until the client disconnects, is too slow, may no longer listen, or the events are closed.
func (s *stream) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // otherwise, some proxies buffer short events
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	out := &sink{w: w, control: http.NewResponseController(w)}
	last, known := s.begin(r.Header.Get("Last-Event-ID"))
	fmt.Fprint(out, "retry: 3000\n")
	if s.part(r) != nil {
		// IDs would count the signals of others. Without them, clients fetch everything again after they were disconnected.
		out.signal("", Signal{Type: SignalReset})
		fmt.Fprint(out, ": listening\n\n")
		s.follow(r, out, last)
		return
	}
	if !known {
		out.signal(s.events.id(last), Signal{Type: SignalReset})
	}
	// An event without data is ignored, but sets the last ID.
	fmt.Fprintf(out, ": listening\nid: %s\n\n", s.events.id(last))
	s.follow(r, out, last)
}

// part returns what the client of a request may know of a signal; nil if it sees all signals.
func (s *stream) part(r *http.Request) func(Signal) (Signal, bool) {
	if s.restrict == nil {
		return nil
	}
	return s.restrict(r)
}

// begin returns the number to continue from. known is false if missed signals cannot be determined.
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
	for out.flush() && s.allowed(r) {
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
		if part := s.part(r); part != nil {
			out.news(n.only(part), "")
		} else {
			out.news(n, s.events.id(last))
		}
		if !out.flush() || !await(r.Context(), nil, pace) {
			return
		}
	}
}

// await waits for a channel or a timeout. It returns false if the client disconnects.
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

// sink writes to a listener. After an error it writes nothing.
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
	_ = s.control.SetWriteDeadline(time.Now().Add(slow)) // not supported in tests
	n, err := s.w.Write(b)
	s.err = err
	return n, err
}

// news writes signals. Only the last one has an ID: a client that is disconnected before gets all of them again.
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

// flush sends what was written, and reports whether the connection works.
func (s *sink) flush() bool {
	if s.err == nil {
		s.err = s.control.Flush()
	}
	return s.err == nil
}
