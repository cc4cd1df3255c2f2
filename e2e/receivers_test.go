package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// receiver is a webhook. A dead one accepts nothing.
type receiver struct {
	*httptest.Server
	dead bool

	mu sync.Mutex
	// events are those that it accepted, such as "failed prod/canary", each ID once; refused counts the attempts that it did not.
	events  []string
	ids     []string
	refused int
}

// messageSecret signs messages. It is of these tests alone.
const messageSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYq="

func newReceiver(t *testing.T, dead bool) *receiver {
	t.Helper()
	r := &receiver{dead: dead}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var event struct {
			ID, Type string
			Data     struct{ Environment string }
		}
		err := json.NewDecoder(q.Body).Decode(&event)
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case err != nil || event.ID == "" || event.ID != q.Header.Get("Webhook-Id") || !strings.HasPrefix(q.Header.Get("Webhook-Signature"), "v1,"):
			t.Errorf("not a signed event: %v, %+v, %v", err, event, q.Header)
		case r.dead:
			r.refused++
			w.WriteHeader(http.StatusServiceUnavailable)
		case !slices.Contains(r.ids, event.ID):
			r.ids = append(r.ids, event.ID)
			r.events = append(r.events, strings.TrimPrefix(event.Type, "io.kalypso.promotion.")+" "+event.Data.Environment)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// received returns the accepted events, sorted.
func (r *receiver) received() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.events))
}

// notifications is the configuration of a server that sends all messages to a receiver that is alive, and to one that is dead.
func notifications(alive, dead *receiver) string {
	return fmt.Sprintf(`
notifications:
  receivers:
  - {name: alive, kind: webhook, url: %s, secretEnv: MESSAGE_SECRET}
  - {name: dead, kind: webhook, url: %s, secretEnv: MESSAGE_SECRET}
  routes:
  - receivers: [alive, dead]
`, alive.URL, dead.URL)
}

// wantTold waits until the receiver that is alive has the wanted events. All of them wait for the dead one, and none is lost.
func (s *server) wantTold(t *testing.T, alive, dead *receiver, want []string) {
	t.Helper()
	slices.Sort(want)
	eventually(t, "users are told", func(context.Context) error {
		if got := alive.received(); !slices.Equal(got, want) {
			return fmt.Errorf("told %q, want %q", got, want)
		}
		return nil
	})
	var status struct {
		Receivers []struct {
			Name                              string
			Pending, Delivered, Dead, Dropped int
			Error                             string
		}
	}
	must(t, json.Unmarshal([]byte(s.ask(t, 0, "notify", "status", "-o", "json")), &status))
	if len(status.Receivers) != 2 {
		t.Fatalf("receivers: %+v", status)
	}
	one, other := status.Receivers[0], status.Receivers[1]
	if one.Name != "alive" || one.Delivered != len(want) || one.Pending+one.Dead+one.Dropped != 0 {
		t.Errorf("the receiver that is alive: %+v", one)
	}
	if other.Pending != len(want) || other.Delivered+other.Dead+other.Dropped != 0 || !strings.Contains(other.Error, "503") {
		t.Errorf("the dead receiver: %+v", other)
	}
	dead.mu.Lock()
	defer dead.mu.Unlock()
	if dead.refused == 0 {
		t.Error("nothing was sent to the dead receiver")
	}
}
