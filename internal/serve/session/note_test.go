package session_test

import (
	"io"
	"net/http"
	"testing"
	"time"
)

func TestNotesAreToldOnce(t *testing.T) {
	w := newWorld(t)
	w.more = func(mux *http.ServeMux) {
		mux.HandleFunc("/tell", func(rw http.ResponseWriter, _ *http.Request) { w.sessions.Tell(rw, "dev is paused") })
		mux.HandleFunc("/told", func(rw http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(rw, w.sessions.Told(rw, r)) })
	}
	b := w.browser()
	for _, step := range []struct{ path, want string }{{"/told", ""}, {"/tell", ""}, {"/told", "dev is paused"}, {"/told", ""}, {"/tell", ""}} {
		if got := b.get(step.path).text; got != step.want {
			t.Errorf("%s: got %q, want %q", step.path, got, step.want)
		}
	}
	w.now = w.now.Add(2 * time.Minute)
	if got := b.get("/told").text; got != "" {
		t.Errorf("much later: got %q", got)
	}
}
