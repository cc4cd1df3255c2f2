package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// line is the line to a listener, in memory.
type line struct {
	mu     sync.Mutex
	text   bytes.Buffer
	header http.Header
	broken bool
}

func (l *line) Header() http.Header { return l.header }
func (l *line) WriteHeader(int)     {}
func (l *line) Flush()              {}

func (l *line) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return 0, errors.New("broken pipe")
	}
	return l.text.Write(b)
}

// take returns what was written since it was called last, without the numbers of the process.
func (l *line) take(e *Events) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return strings.ReplaceAll(l.text.String(), e.process()+"-", "#")
}

// listener is somebody who listens, in a bubble of synctest.
type listener struct {
	*line
	stop  func()
	ended chan struct{}
}

func (s *stream) listen(lastEventID string) *listener {
	ctx, stop := context.WithCancel(context.Background())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if lastEventID != "" {
		r.Header.Set("Last-Event-ID", lastEventID)
	}
	l := &listener{line: &line{header: http.Header{}}, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		s.serve(l, r)
	}()
	synctest.Wait()
	return l
}

func everybody(*http.Request) bool { return true }

func TestSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Events{}
		s := &stream{events: e, allowed: everybody}
		l := s.listen("")
		defer l.stop()
		want := "retry: 3000\n: listening\nid: #0\n\n"
		if diff := cmp.Diff(l.take(e), want); diff != "" {
			t.Errorf("at first (-got +want):\n%s", diff)
		}

		e.Publish(Signal{Type: SignalReport, Cluster: "large/07"})
		synctest.Wait()
		want = "id: #1\nevent: report\ndata: {\"cluster\":\"large/07\",\"fetch\":[\"/api/v1/clusters/large%2F07\"]}\n\n"
		if diff := cmp.Diff(l.take(e), want); diff != "" {
			t.Errorf("at once (-got +want):\n%s", diff)
		}

		for range 1000 {
			e.Publish(Signal{Type: SignalReport, Cluster: "a"})
			e.Publish(Signal{Type: SignalReport, Cluster: "b"})
		}
		synctest.Wait()
		if got := l.take(e); got != "" {
			t.Errorf("too early: %q", got)
		}
		time.Sleep(pace)
		synctest.Wait()
		want = "event: report\ndata: {\"cluster\":\"a\",\"fetch\":[\"/api/v1/clusters/a\"]}\n\n" +
			"id: #2001\nevent: report\ndata: {\"cluster\":\"b\",\"fetch\":[\"/api/v1/clusters/b\"]}\n\n"
		if diff := cmp.Diff(l.take(e), want); diff != "" {
			t.Errorf("what came meanwhile comes once (-got +want):\n%s", diff)
		}

		time.Sleep(2*heartbeat + pace)
		synctest.Wait()
		if got := l.take(e); got != ": alive\n\n: alive\n\n" {
			t.Errorf("silence: %q", got)
		}
	})
}

func TestListenersComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Events{}
		s := &stream{events: e, allowed: everybody}
		for i := range 5 {
			e.Publish(Signal{Type: SignalCluster, Cluster: fmt.Sprint(i)})
		}
		for name, tc := range map[string]struct {
			last string
			want []string
		}{
			"for the first time":   {"", nil},
			"after the third":      {e.id(3), []string{"cluster 3", "cluster 4"}},
			"up to date":           {e.id(5), nil},
			"of another process":   {"0011223344ff-3", []string{"reset"}},
			"from the future":      {e.id(6), []string{"reset"}},
			"with something else":  {"3", []string{"reset"}},
			"with a number around": {e.process() + "-18446744073709551616", []string{"reset"}},
		} {
			l := s.listen(tc.last)
			if diff := cmp.Diff(received(l.take(e)), tc.want); diff != "" {
				t.Errorf("%s (-got +want):\n%s", name, diff)
			}
			l.stop()
			<-l.ended
		}
	})
}

// received are the signals in a stream, by type and cluster.
func received(text string) []string {
	var all []string
	for _, block := range strings.Split(text, "\n\n") {
		_, rest, ok := strings.Cut(block, "event: ")
		if !ok {
			continue
		}
		kind, data, _ := strings.Cut(rest, "\ndata: ")
		if _, cluster, ok := strings.Cut(data, `"cluster":"`); ok {
			name, _, _ := strings.Cut(cluster, `"`)
			kind += " " + name
		}
		all = append(all, kind)
	}
	return all
}

func TestListenersThatFallBehindStartAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Events{}
		s := &stream{events: e, allowed: everybody}
		l := s.listen("")
		defer l.stop()
		e.Publish(Signal{Type: SignalCluster})
		synctest.Wait() // it pauses now
		l.take(e)
		for range remembered + 1 {
			e.Publish(Signal{Type: SignalReport})
		}
		time.Sleep(pace)
		synctest.Wait()
		if got := received(l.take(e)); len(got) != 1 || got[0] != "reset" {
			t.Errorf("got %q", got)
		}
		time.Sleep(pace)
		e.Publish(Signal{Type: SignalCluster, Cluster: "new"})
		synctest.Wait()
		if got := received(l.take(e)); len(got) != 1 || got[0] != "cluster new" {
			t.Errorf("after that: got %q", got)
		}
	})
}

func TestListeningEnds(t *testing.T) {
	for name, end := range map[string]func(e *Events, l *listener, may *atomic.Bool){
		"they go":          func(_ *Events, l *listener, _ *atomic.Bool) { l.stop() },
		"the server stops": func(e *Events, _ *listener, _ *atomic.Bool) { e.Close() },
		"their token ended": func(e *Events, _ *listener, may *atomic.Bool) {
			may.Store(false)
			e.Publish(Signal{Type: SignalCluster})
		},
		"their token ended, no signal": func(_ *Events, _ *listener, may *atomic.Bool) { may.Store(false); time.Sleep(heartbeat) },
		"the line broke": func(e *Events, l *listener, _ *atomic.Bool) {
			l.mu.Lock()
			l.broken = true
			l.mu.Unlock()
			e.Publish(Signal{Type: SignalCluster})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			e, may := &Events{}, &atomic.Bool{}
			may.Store(true)
			s := &stream{events: e, allowed: func(*http.Request) bool { return may.Load() }}
			l := s.listen("")
			l.take(e)
			end(e, l, may)
			synctest.Wait()
			select {
			case <-l.ended:
			default:
				t.Errorf("%s: it goes on", name)
				l.stop()
			}
			if got := received(l.take(e)); len(got) > 0 {
				t.Errorf("%s: they heard %q", name, got)
			}
		})
	}
}

func TestListenersAreCounted(t *testing.T) {
	s := &stream{}
	for range maxListeners {
		if _, ok := s.admit(); !ok {
			t.Fatal("refused too early")
		}
	}
	if _, ok := s.admit(); ok {
		t.Fatal("one too many")
	}
	s.listeners.Add(-1)
	done, ok := s.admit()
	if !ok {
		t.Fatal("there is room again")
	}
	done()
	if got := s.listeners.Load(); got != maxListeners-1 {
		t.Errorf("%d listen", got)
	}
}
