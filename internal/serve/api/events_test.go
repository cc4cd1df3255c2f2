package api_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// listen connects to the events, and returns their lines once the server listens.
func (w *world) listen(token string) (*bufio.Scanner, func()) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+"/api/v1/events", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || !strings.HasPrefix(got, "text/event-stream") {
		w.t.Fatalf("got %d %s", response.StatusCode, got)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() && lines.Text() != ": listening" {
	}
	return lines, func() { _ = response.Body.Close() }
}

// TestTwoHundredListeners: all hear everything while one who does not read holds nobody up.
func TestTwoHundredListeners(t *testing.T) {
	w := newWorld(t)
	_, idle := w.listen(w.tokens["reader"])
	defer idle()
	var all sync.WaitGroup
	heard := make([]map[string]bool, 200)
	for i := range heard {
		heard[i] = map[string]bool{}
		lines, done := w.listen(w.tokens["reader"])
		all.Go(func() {
			defer done()
			for lines.Scan() {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					heard[i][data] = true
				}
				if strings.Contains(lines.Text(), "the-last") {
					return
				}
			}
		})
	}
	for i := range 1000 {
		w.server.Events.Publish(api.Signal{Type: api.SignalReport, Cluster: fmt.Sprintf("large-%04d", i)})
	}
	w.server.Events.Publish(api.Signal{Type: api.SignalReport, Cluster: "the-last"})
	all.Wait()
	for i, h := range heard {
		if len(h) != 1001 {
			t.Errorf("listener %d heard %d signals", i, len(h))
		}
	}
}

// TestReportsAreSignalled: whoever looks at a cluster hears that it reported.
func TestReportsAreSignalled(t *testing.T) {
	w := newWorld(t)
	credential := w.register("large-07")
	lines, done := w.listen(w.tokens["reader"])
	defer done()
	if a := w.post("/api/v1/reports", credential, marshal(t, batch("", report("platform", "")))); a.status != http.StatusOK {
		t.Fatalf("got %d: %s", a.status, a.body)
	}
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if want := `{"cluster":"large-07","fetch":["/api/v1/clusters/large-07"]}`; data != want {
				t.Errorf("got %s, want %s", data, want)
			}
			return
		}
	}
	t.Error("the stream ended")
}

// TestThievesHearNothing: a stream ends before its next signal when its token was revoked.
func TestThievesHearNothing(t *testing.T) {
	w := newWorld(t)
	lines, done := w.listen(w.tokens["reader"])
	defer done()
	if a := w.post("/api/v1/tokens/reader/revoke", w.tokens["admin"], nil); a.status != http.StatusOK {
		t.Fatalf("got %d: %s", a.status, a.body)
	}
	w.server.Events.Publish(api.Signal{Type: api.SignalReport, Cluster: "large-07"})
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			t.Fatalf("heard %s", lines.Text())
		}
	}
}
