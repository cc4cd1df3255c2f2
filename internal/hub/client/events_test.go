package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sendEvents(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// The server cuts each connection after an event, and is unavailable once.
func TestEventsResumeAfterTheLastEvent(t *testing.T) {
	asked := 0
	c, pauses := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		last := r.Header.Get("Last-Event-ID")
		switch asked++; asked {
		case 1:
			sendEvents(w, "retry: 2000\n: hello\n\nid: 1\nevent: promotion\ndata: {\"a\":\ndata: 1}\nunknown: field\n\nid: 2\ndata: cut o")
		case 2:
			w.WriteHeader(http.StatusBadGateway)
		case 3:
			sendEvents(w, "data: after "+last+"\n\n")
		default:
			t.Errorf("it connects again after the caller stopped")
		}
	})
	var got []Event
	for e, err := range c.Events(t.Context(), "events", nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e); len(got) == 2 {
			break
		}
	}
	want := []Event{{ID: "1", Type: "promotion", Data: "{\"a\":\n1}"}, {ID: "1", Type: "message", Data: "after 1"}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(*pauses, []time.Duration{2 * time.Second, 2 * time.Second}); diff != "" {
		t.Errorf("pauses (-got +want):\n%s", diff)
	}
}

// What changes while a client connects is not among the events.
func TestEventsSayWhenTheServerListens(t *testing.T) {
	listening := make(chan struct{})
	c, _ := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		sendEvents(w, ": listening\n\n")
		select {
		case <-listening:
			sendEvents(w, "data: 1\n\n")
		case <-r.Context().Done():
		}
	})
	for e, err := range c.Events(t.Context(), "events", nil, func() { close(listening) }) {
		if err != nil || e.Data != "1" {
			t.Errorf("got %+v, %v", e, err)
		}
		break
	}
}

func TestEventsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for _, tc := range []struct {
		name   string
		handle http.HandlerFunc
		want   string
	}{
		{"when the server refuses", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "401"},
		{"when it is not a stream", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, ErrNoAPI.Error()},
		{"when an event has no end", func(w http.ResponseWriter, _ *http.Request) {
			sendEvents(w, "")
			for err := error(nil); err == nil; _, err = io.WriteString(w, "data: "+strings.Repeat("x", 1000)+"\n") {
			}
		}, "an event is longer than 1 MiB"},
		{"when a line has no end", func(w http.ResponseWriter, _ *http.Request) {
			sendEvents(w, "data: ")
			for err := error(nil); err == nil; _, err = io.WriteString(w, strings.Repeat("x", 1000)) {
			}
		}, "an event is longer than 1 MiB"},
		{"with the context", func(w http.ResponseWriter, r *http.Request) {
			sendEvents(w, "")
			cancel()
			<-r.Context().Done()
		}, context.Canceled.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := newClient(t, tc.handle)
			var last error
			n := 0
			for _, err := range c.Events(ctx, "events", nil, nil) {
				n, last = n+1, err
			}
			if n != 1 || last == nil || !strings.Contains(last.Error(), tc.want) {
				t.Errorf("got %d events, the last with %v; want one that says %q", n, last, tc.want)
			}
		})
	}
}

func TestEventsBackOffWhenConnectionsKeepEnding(t *testing.T) {
	c, pauses := newClient(t, func(w http.ResponseWriter, _ *http.Request) { sendEvents(w, "") })
	enough := errors.New("enough")
	really := c.sleep
	c.sleep = func(ctx context.Context, d time.Duration) error {
		if len(*pauses) == 9 {
			return enough
		}
		return really(ctx, d)
	}
	for e, err := range c.Events(t.Context(), "events", nil, nil) {
		if err == nil {
			t.Errorf("got %+v out of nothing", e)
		}
	}
	if last := (*pauses)[8]; last != longestPause {
		t.Errorf("the last pause is %s, want %s", last, longestPause)
	}
}
