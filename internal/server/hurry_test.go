package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// dialed is a connection on which a request has begun.
func dialed(t *testing.T, s *httptest.Server, request string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return conn
}

const begun = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345"

func TestNobodyKeepsAConnectionByDoingNothing(t *testing.T) {
	for name, handle := range map[string]http.HandlerFunc{
		"what is read":          func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) },
		"and what nobody reads": func(http.ResponseWriter, *http.Request) {},
	} {
		s := httptest.NewServer(hurried(handle, 50*time.Millisecond))
		if _, err := io.ReadAll(dialed(t, s, begun)); err != nil {
			t.Errorf("%s: the connection stays: %v", name, err)
		}
		s.Close()
	}
}

func TestWhoHasSentEverythingMayWait(t *testing.T) {
	const within = 50 * time.Millisecond
	s := httptest.NewServer(hurried(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		select {
		case <-r.Context().Done():
			t.Errorf("given up: %v", r.Context().Err())
		case <-time.After(4 * within):
		}
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "done")
	}), within))
	defer s.Close()
	conn := dialed(t, s, begun+"67890")
	for range 2 { // and may ask again
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "done" {
			t.Errorf("got %q, %v", text, err)
		}
		time.Sleep(2 * within)
		_, _ = io.WriteString(conn, begun+"67890")
	}
}

// Nobody knows who sends a delivery before it is read, and they may be large.
func TestFewLargeDeliveriesAreReadAtOnce(t *testing.T) {
	server := newServer(t)
	hooks := newWebhooks(server.Hooks, server.Keeper.Handle, nil)
	for range maxLarge {
		hooks.large <- struct{}{}
	}
	post := func(body string) int {
		r := httptest.NewRequest(http.MethodPost, "/webhooks/forge", strings.NewReader(body))
		r.SetPathValue("name", "forge")
		r.Header.Set("Signature", "s3cret-of-the-hook")
		w := httptest.NewRecorder()
		hooks.ServeHTTP(w, r)
		return w.Code
	}
	if got := post("small"); got != http.StatusAccepted {
		t.Errorf("a small one: status %d", got)
	}
	answered := make(chan int)
	go func() { answered <- post(strings.Repeat("x", smallDelivery+1)) }()
	select {
	case got := <-answered:
		t.Fatalf("a large one did not wait: status %d", got)
	case <-time.After(100 * time.Millisecond):
	}
	<-hooks.large
	if got := <-answered; got != http.StatusAccepted {
		t.Errorf("a large one: status %d", got)
	}
	if got := len(hooks.large); got != maxLarge-1 {
		t.Errorf("%d places are taken, want %d", got, maxLarge-1)
	}
}
