package wiring

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/notify"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// receiver is a webhook that can be down. It remembers the requests that it accepted, and counts the others.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	down     bool
	refused  int
	accepted []http.Header
	events   []cloudEvent
	// got is told about each accepted request.
	got chan cloudEvent
}

type cloudEvent struct {
	SpecVersion string `json:"specversion"`
	ID          string `json:"id"`
	Type        string `json:"type"`
	Source      string `json:"source"`
	Subject     string `json:"subject"`
	Data        struct {
		Workload, Workspace, Environment, Commit, Version, Reason, URL, Title string
	} `json:"data"`
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{got: make(chan cloudEvent, 1000)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		var e cloudEvent
		if err = errors.Join(err, json.Unmarshal(body, &e)); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.down {
			r.refused++
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.accepted = append(r.accepted, request.Header)
		r.events = append(r.events, e)
		r.got <- e
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) setDown(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

// received returns what was accepted, such as "failed dev", each event once.
func (r *receiver) received() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	seen := map[string]bool{}
	for _, e := range r.events {
		if !seen[e.ID] {
			all = append(all, strings.TrimPrefix(e.Type, "io.kalypso.promotion.")+" "+e.Subject)
		}
		seen[e.ID] = true
	}
	return all
}

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYq="

// notificationsTo returns a configuration with a webhook for each URL, and a route to all of them.
func notificationsTo(urls ...string) serve.NotificationsConfig {
	var n serve.NotificationsConfig
	var names []string
	for i, url := range urls {
		name := "receiver-" + string(rune('a'+i))
		names = append(names, name)
		n.Receivers = append(n.Receivers, serve.ReceiverConfig{Name: name, Kind: serve.ReceiverWebhook, URL: url, SecretEnv: "HOOK_SECRET"})
	}
	n.Routes = []serve.RouteConfig{{Receivers: names}}
	return n
}

var hookEnv = map[string]string{"HOOK_SECRET": webhookSecret}

// notifications are the messages of a world, with its clock.
type notifications struct {
	*testing.T
	collector  *notify.Collector
	dispatcher *notify.Dispatcher
}

func notifying(t *testing.T, l ledger.Ledger, now func() time.Time, urls ...string) *notifications {
	t.Helper()
	config := &serve.Config{URL: "https://kalypso.example", Notifications: notificationsTo(urls...)}
	if err := config.Notifications.Check(); err != nil {
		t.Fatal(err)
	}
	senders, err := NewSenders(config, hookEnv)
	if err != nil {
		t.Fatal(err)
	}
	n := &notifications{
		T:          t,
		collector:  &notify.Collector{Ledger: l, Routes: config.Notifications.NotificationRoutes(), Now: now},
		dispatcher: &notify.Dispatcher{Outbox: l, Senders: senders, Now: now},
	}
	if err := n.collector.Subscribe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

// run collects, and sends everything that is due.
func (n *notifications) run() {
	n.Helper()
	if _, err := n.collector.Collect(n.Context()); err != nil {
		n.Fatal(err)
	}
	for name := range n.dispatcher.Senders {
		for {
			_, err := n.dispatcher.Send(n.Context(), name)
			if errors.Is(err, ledger.ErrNotFound) {
				break
			}
			if err != nil {
				n.Fatal(err)
			}
		}
	}
}

// TestPeopleAreToldAboutPromotions follows a good commit, a bad one that fails on two clusters, and an approval. One receiver is down
// meanwhile: it gets everything later, and delays neither rounds nor the other receiver.
func TestPeopleAreToldAboutPromotions(t *testing.T) {
	t.Parallel()
	w := newPromotionWorld(t, map[string]string{"dev": "{}", "prod": "{after: [dev], approval: pullRequest}"})
	w.quiet()
	good, weak := newReceiver(t), newReceiver(t)
	w.now = w.now.Add(2 * time.Hour) // what happened before is history
	n := notifying(t, w.ledger, func() time.Time { return w.now }, good.URL, weak.URL)
	weak.setDown(true)
	settle := func() {
		t.Helper()
		w.quiet()
		n.run()
	}
	commit := w.commit("one")
	settle()
	w.approve()
	settle()
	w.cluster("dev-1").fails = "no image"
	w.commit("bad")
	settle()
	w.cluster("dev-2").fails = "no image"
	settle()
	w.cluster("dev-1").fails, w.cluster("dev-2").fails = "", ""
	settle()

	// The cluster fails with the good commit, and then with the bad one: each has one message, whatever number of clusters fail.
	want := []string{"done dev", "waiting prod", "done prod", "failed dev", "failed dev", "done dev", "waiting prod"}
	if diff := cmp.Diff(want, good.received()); diff != "" {
		t.Fatalf("received (-want +got):\n%s\n%+v", diff, good.events)
	}
	first, waiting := good.events[0], good.events[1]
	if first.SpecVersion != "1.0" || first.Source != "https://kalypso.example" || first.Data.Commit != commit || first.Data.URL != "https://kalypso.example/environments/dev" {
		t.Errorf("the first is %+v", first)
	}
	if open := w.URL + "/" + "platform/control-plane"; !strings.Contains(waiting.Data.Reason, "waits for its promotion to be merged") || !strings.Contains(waiting.Data.Reason, open) {
		t.Errorf("waiting is %+v", waiting)
	}
	if h := good.accepted[0]; h.Get("Content-Type") != "application/cloudevents+json; charset=utf-8" || h.Get("Webhook-Id") != first.ID || !strings.HasPrefix(h.Get("Webhook-Signature"), "v1,") {
		t.Errorf("headers %v", h)
	}

	if weak.refused == 0 || len(weak.received()) != 0 {
		t.Fatalf("refused %d, received %v", weak.refused, weak.received())
	}
	weak.setDown(false)
	w.now = w.now.Add(2 * time.Hour)
	n.run()
	got := weak.received()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after it recovered (-want +got):\n%s", diff)
	}
	status, err := w.ledger.Receivers(t.Context())
	if err != nil || len(status) != 2 || status[0].Delivered != len(want) || status[1].Delivered != len(want) || status[1].Pending != 0 {
		t.Errorf("got %+v, %v", status, err)
	}
}

// TestTeamsAreToldAboutApplications follows an application, with its version and workspace.
func TestTeamsAreToldAboutApplications(t *testing.T) {
	t.Parallel()
	s, d := registeredShop(t)
	r := newReceiver(t)
	n := notifying(t, s.ledger, func() time.Time { return s.now }, r.URL)
	s.built("1.4.0")
	for range 3 {
		s.deliver(t, d)
		s.report()
	}
	n.run()
	// Both are of one instant, so their order does not matter.
	if diff := cmp.Diff([]string{"done shop/dev", "waiting shop/stage"}, slices.Sorted(slices.Values(r.received()))); diff != "" {
		t.Fatalf("received (-want +got):\n%s\n%+v", diff, r.events)
	}
	done := slices.IndexFunc(r.events, func(e cloudEvent) bool { return e.Subject == "shop/dev" })
	if e := r.events[done]; e.Data.Workload != "shop" || e.Data.Workspace != "kaizen" || e.Data.Title != "shop in dev: 1.4.0 is deployed" || e.Data.URL != "https://kalypso.example/workloads/shop" {
		t.Errorf("got %+v", e)
	}
}

// TestServerSendsMessages runs a server. A step that a promoter records leaves it at once.
func TestServerSendsMessages(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	noForge := false
	config := &serve.Config{
		ControlPlanes: []string{"https://git.example/control-plane"}, Listen: "127.0.0.1:0", Data: t.TempDir(), LocalForge: &noForge, URL: "https://kalypso.example",
		Notifications: notificationsTo(r.URL, "http://127.0.0.1:1"),
	}
	config.Ledger = config.Data + "/ledger.db"
	s, err := New(t.Context(), Options{
		Config: config, Env: hookEnv, Log: slog.New(slog.DiscardHandler), Listen: func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.notifications.Collector.Subscribe(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	wait.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	step := ledger.Step{
		PromotionID: ledger.PromotionID{Subject: "https://git.example/control-plane", Commit: strings.Repeat("a", 40), Environment: "dev"},
		Kind:        string(decide.StepDeployed), At: time.Now(),
	}
	if err := s.Flows.promotion.Promoter.Ledger.RecordStep(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	if e := <-r.got; e.Type != "io.kalypso.promotion.done" || e.Subject != "dev" {
		t.Errorf("got %+v", e)
	}
}
