package serve

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

const shop, cart = "https://forge.example.com/teams/shop#shop", "https://forge.example.com/teams/cart#cart"

// fakeDeliveries records the keeper's calls. Its rounds read the source, the configuration and the GitOps repository of dev.
type fakeDeliveries struct {
	flows *fakeFlows

	mu   sync.Mutex
	gone string
	// did is the result of the next round, and next the time at which it needs another one.
	did  []string
	next time.Duration
	// slow is the duration of a round.
	slow time.Duration
}

func (d *fakeDeliveries) Registered(context.Context, string) (*Registered, error) {
	d.flows.note("applications")
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Registered{Applications: slices.DeleteFunc([]string{cart, shop}, func(a string) bool { return a == d.gone })}, nil
}

func (d *fakeDeliveries) Deliver(_ context.Context, _, application string) (*Delivered, error) {
	name := name(application)
	d.flows.note("deliver " + name)
	d.mu.Lock()
	slow := d.slow
	d.mu.Unlock()
	time.Sleep(slow)
	done := d.done(name)
	done.Read = []schedule.Location{
		{Repo: "https://forge.example.com/teams/" + name}, // its default branch
		{Repo: "https://forge.example.com/teams/" + name + "-configs", Branch: "dev"},
		{Repo: "git@forge.example.com:teams/" + name + "-gitops.git", Branch: "dev"},
	}
	return done, nil
}

func (d *fakeDeliveries) Follow(_ context.Context, _, application string) (*Delivered, error) {
	d.flows.note("follow " + name(application))
	return d.done(name(application)), nil
}

func name(application string) string { return application[len(application)-4:] }

func (d *fakeDeliveries) done(name string) *Delivered {
	d.mu.Lock()
	defer d.mu.Unlock()
	done := &Delivered{Did: d.did, Application: &query.Application{
		ControlPlane: controlPlane, Name: name,
		Environments: []query.ApplicationEnvironment{{Environment: "dev", Phase: decide.Good}},
	}}
	if d.next > 0 {
		done.Next = time.Now().Add(d.next)
	}
	d.did, d.next = nil, 0
	return done
}

// keepDeliveries runs a keeper with two applications. test begins when the first rounds have ended.
func keepDeliveries(t *testing.T, d *fakeDeliveries, test func(k *Keeper)) {
	t.Helper()
	keepAll(t, d.flows, nil, d, func(k *Keeper) {
		time.Sleep(2 * minDelay)
		started := d.flows.taken()
		for _, call := range []string{"applications", "deliver cart", "deliver shop"} {
			if !slices.Contains(started, call) {
				t.Fatalf("got %q, want %q among them", started, call)
			}
		}
		test(k)
	})
}

func TestEventsWakeTheApplicationThatTheyAreAbout(t *testing.T) {
	d := &fakeDeliveries{flows: &fakeFlows{}}
	keepDeliveries(t, d, func(k *Keeper) {
		for _, c := range []struct {
			event forge.Event
			calls []string
		}{
			{forge.Event{Kind: forge.EventPush, Repository: "teams/cart", Branch: "trunk"}, []string{"deliver cart"}},
			{forge.Event{Kind: forge.EventPush, Repository: "teams/cart-configs", Branch: "dev"}, []string{"deliver cart"}},
			{forge.Event{Kind: forge.EventPush, Repository: "teams/cart-configs", Branch: "stage"}, nil},
			{forge.Event{Kind: forge.EventPullRequest, Repository: "teams/cart-gitops", Branch: "dev"}, []string{"deliver cart"}},
			{forge.Event{Kind: forge.EventStatus, Repository: "teams/cart-gitops"}, []string{"deliver cart"}},
			{forge.Event{Kind: forge.EventPush, Repository: "teams/other", Branch: "main"}, nil},
		} {
			k.HandleEvent(c.event)
			time.Sleep(time.Millisecond)
			want(t, d.flows, c.calls...)
		}
	})
}

func TestReportsWakeTheChainOfTheApplicationThatTheyAreAbout(t *testing.T) {
	d := &fakeDeliveries{flows: &fakeFlows{}}
	keepDeliveries(t, d, func(k *Keeper) {
		for range 100 {
			k.HandleReports([]ledger.Report{{Outcome: ledger.Outcome{Source: ledger.Source{Repository: "https://forge.example.com/teams/shop-gitops", Ref: "dev"}}}})
		}
		want(t, d.flows)
		time.Sleep(2 * minDelay)
		want(t, d.flows, "follow shop")
		k.HandleReports([]ledger.Report{{Outcome: ledger.Outcome{Source: ledger.Source{Repository: "https://forge.example.com/teams/shop-gitops", Ref: "stage"}}}})
		time.Sleep(2 * minDelay)
		want(t, d.flows)
		k.HandleReports([]ledger.Report{{Outcome: ledger.Outcome{Source: ledger.Source{}}}}) // a reconciler without a source
		time.Sleep(2 * minDelay)
		want(t, d.flows, "follow cart", "follow shop")
		k.RunChain(cart)
		time.Sleep(2 * minDelay)
		want(t, d.flows, "follow cart")
	})
}

func TestWhatAnApplicationsChainMovedIsDeliveredAtOnce(t *testing.T) {
	d := &fakeDeliveries{flows: &fakeFlows{}}
	keepDeliveries(t, d, func(k *Keeper) {
		d.did = []string{"promoted 1.4.0 to stage"}
		k.RunChain(shop)
		time.Sleep(minDelay)
		want(t, d.flows, "deliver shop", "follow shop")
		d.next = time.Minute
		k.RunChain(shop)
		time.Sleep(30 * time.Second)
		want(t, d.flows, "follow shop")
		time.Sleep(31 * time.Second)
		want(t, d.flows, "follow shop")
	})
}

func TestRemovedApplicationsAreForgotten(t *testing.T) {
	d := &fakeDeliveries{flows: &fakeFlows{}}
	keepDeliveries(t, d, func(k *Keeper) {
		d.gone = cart
		k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "main"})
		time.Sleep(time.Millisecond)
		d.flows.taken()
		k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "teams/cart", Branch: "main"})
		k.RunChain(cart)
		time.Sleep(2 * minDelay)
		want(t, d.flows)
	})
}

// An application can be unregistered during its round.
func TestApplicationRemovedDuringItsRound(t *testing.T) {
	d := &fakeDeliveries{flows: &fakeFlows{}}
	keepDeliveries(t, d, func(k *Keeper) {
		d.slow = time.Minute
		k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "teams/cart", Branch: "main"})
		time.Sleep(time.Second)
		d.mu.Lock()
		d.gone = cart
		d.mu.Unlock()
		k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "main"})
		time.Sleep(5 * time.Minute)
		if shown := labels(t, d.flows.registry, "kalypso_application_phase"); slices.Contains(shown, "cart") || !slices.Contains(shown, "shop") {
			t.Errorf("shown are %q", shown)
		}
		for i := range k.rounds {
			if i.application == cart {
				t.Errorf("%v is still kept", i)
			}
		}
	})
}

func TestMetricsForgetFormerStates(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	a := &query.Application{Name: "shop", ControlPlane: controlPlane, Environments: []query.ApplicationEnvironment{{Environment: "dev", Phase: decide.Applying}}}
	m.delivered(a)
	a.Environments[0].Phase = decide.Good
	m.delivered(a)
	if got := labels(t, registry, "kalypso_application_phase"); !slices.Equal(got, []string{controlPlane, "dev", "good", "shop"}) {
		t.Errorf("shown are %q", got)
	}
	m.undelivered(controlPlane, shop)
	for _, metric := range []string{"kalypso_application_phase", "kalypso_application_change_open"} {
		if got := labels(t, registry, metric); len(got) > 0 {
			t.Errorf("%s still shows %q", metric, got)
		}
	}
}

// labels returns the label values of all series of a metric.
func labels(t *testing.T, registry *prometheus.Registry, metric string) []string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range families {
		for _, series := range f.Metric {
			for _, l := range series.Label {
				if f.GetName() == metric {
					all = append(all, l.GetValue())
				}
			}
		}
	}
	return all
}

// TestSlowApplicationsDoNotHoldUpEnvironments uses one worker for each lane, and an application whose round takes an hour.
func TestSlowApplicationsDoNotHoldUpEnvironments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeFlows{}
		d := &fakeDeliveries{flows: f, slow: time.Hour}
		k := &Keeper{
			Flows: f, Deliveries: d, ControlPlanes: []string{controlPlane}, Poll: 30 * time.Hour, Workers: 1, Timeout: 2 * time.Hour,
			Log: slog.New(slog.DiscardHandler),
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { k.Run(ctx); close(done) }()
		time.Sleep(time.Minute)
		if started := f.taken(); !slices.Contains(started, "deliver cart") || slices.Contains(started, "deliver shop") {
			t.Fatalf("calls: %q", started)
		}
		k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "dev"})
		synctest.Wait()
		if calls := f.taken(); !slices.Contains(calls, "round dev") {
			t.Errorf("the environment waits for the application: %q", calls)
		}
		cancel()
		<-done
	})
}
