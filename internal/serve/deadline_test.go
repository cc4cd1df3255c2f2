package serve

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener inside a synctest bubble, where time advances only while all goroutines wait.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// hurriedly connects a test to a handler with a read timeout of one second, after sending the beginning of a request.
func hurriedly(t *testing.T, handle http.HandlerFunc, request string, test func(*testing.T, net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		conn, theirs := net.Pipe()
		listener, s := make(pipes, 1), &http.Server{Handler: withReadTimeout(handle, time.Second)}
		listener <- theirs
		go func() { _ = s.Serve(listener) }()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		test(t, conn)
		_ = conn.Close()
		close(listener)
		_ = s.Close()
	})
}

const begun = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345"

func TestIdleConnectionsAreClosed(t *testing.T) {
	for name, handle := range map[string]http.HandlerFunc{
		"what is read":            func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) },
		"a body that is not read": func(http.ResponseWriter, *http.Request) {},
	} {
		hurriedly(t, handle, begun, func(t *testing.T, conn net.Conn) {
			asked := time.Now()
			if _, err := io.ReadAll(conn); err != nil || time.Since(asked) > 2*time.Second {
				t.Errorf("%s: the connection stays for %s: %v", name, time.Since(asked), err)
			}
		})
	}
}

func TestNoDeadlineAfterTheBody(t *testing.T) {
	handle := func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		select {
		case <-r.Context().Done():
			t.Errorf("given up: %v", r.Context().Err())
		case <-time.After(10 * time.Second):
		}
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "done")
	}
	hurriedly(t, handle, begun+"67890", func(t *testing.T, conn net.Conn) {
		for again := range 2 {
			if again > 0 {
				time.Sleep(10 * time.Second)
				_, _ = io.WriteString(conn, begun+"67890")
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "done" {
				t.Errorf("got %q, %v", text, err)
			}
		}
	})
}

// The sender of a webhook is unknown until its body, which may be large, has been read.
func TestFewLargeDeliveriesAreReadAtOnce(t *testing.T) {
	server := newServer(t)
	hooks := newWebhooks(server.Hooks, server.Keeper.HandleEvent, nil)
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
