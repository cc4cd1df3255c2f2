package serve

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

const shop, cart = "https://forge.example.com/teams/shop#shop", "https://forge.example.com/teams/cart#cart"

// fakeDeliveries notes what the keeper asks for. Its rounds read the source, the configuration and the GitOps repository of dev.
type fakeDeliveries struct {
	flows *fakeFlows

	mu   sync.Mutex
	gone string
	// did is what the next round does, and next when it wants to be looked at again.
	did  []string
	next time.Duration
	// slow is how long a round takes.
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
		{Repo: "https://forge.example.com/teams/" + name}, // its default branch, whichever that is
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
		Name: name, Environments: []query.ApplicationEnvironment{{Environment: "dev", Phase: decide.Deployed}},
	}}
	if d.next > 0 {
		done.Next = time.Now().Add(d.next)
	}
	d.did, d.next = nil, 0
	return done
}

// keepDeliveries runs a keeper with two applications, until its work of the start is done.
func keepDeliveries(t *testing.T, d *fakeDeliveries, test func(k *Keeper)) {
	t.Helper()
	keepAll(t, d.flows, nil, d, func(k *Keeper) {
		time.Sleep(2 * settle)
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
			k.Handle(c.event)
			time.Sleep(time.Millisecond)
			want(t, d.flows, c.calls...)
		}
	})
}

func TestReportsWakeTheChainOfTheApplicationThatTheyAreAbout(t *testing.T) {
	d := &fakeDeliveries{flows: &fakeFlows{}}
	keepDeliveries(t, d, func(k *Keeper) {
		for range 100 {
			k.Reported([]ledger.Report{{Outcome: ledger.Outcome{Source: ledger.Source{Repository: "https://forge.example.com/teams/shop-gitops", Ref: "dev"}}}})
		}
		want(t, d.flows)
		time.Sleep(2 * settle)
		want(t, d.flows, "follow shop")
		k.Reported([]ledger.Report{{Outcome: ledger.Outcome{Source: ledger.Source{Repository: "https://forge.example.com/teams/shop-gitops", Ref: "stage"}}}})
		time.Sleep(2 * settle)
		want(t, d.flows)
		k.Reported([]ledger.Report{{Outcome: ledger.Outcome{Source: ledger.Source{}}}}) // a reconciler follows nothing any more
		time.Sleep(2 * settle)
		want(t, d.flows, "follow cart", "follow shop")
		k.Continue(cart)
		time.Sleep(2 * settle)
		want(t, d.flows, "follow cart")
	})
}

func TestWhatAnApplicationsChainMovedIsDeliveredAtOnce(t *testing.T) {
	d := &fakeDeliveries{flows: &fakeFlows{}}
	keepDeliveries(t, d, func(k *Keeper) {
		d.did = []string{"promoted 1.4.0 to stage"}
		k.Continue(shop)
		time.Sleep(settle)
		want(t, d.flows, "deliver shop", "follow shop")
		d.next = time.Minute
		k.Continue(shop)
		time.Sleep(30 * time.Second)
		want(t, d.flows, "follow shop")
		time.Sleep(31 * time.Second)
		want(t, d.flows, "follow shop")
	})
}

func TestApplicationsThatAreGoneAreForgotten(t *testing.T) {
	d := &fakeDeliveries{flows: &fakeFlows{}}
	keepDeliveries(t, d, func(k *Keeper) {
		d.gone = cart
		k.Handle(forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "main"})
		time.Sleep(time.Millisecond)
		d.flows.taken()
		k.Handle(forge.Event{Kind: forge.EventPush, Repository: "teams/cart", Branch: "main"})
		k.Continue(cart)
		time.Sleep(2 * settle)
		want(t, d.flows)
	})
}

// Its registration may go while it is looked at.
func TestWhatIsGoneMeanwhileIsForgottenAsWell(t *testing.T) {
	d := &fakeDeliveries{flows: &fakeFlows{}}
	keepDeliveries(t, d, func(k *Keeper) {
		registry := prometheus.NewRegistry()
		k.Metrics = NewMetrics(registry)
		d.slow = time.Minute
		k.Handle(forge.Event{Kind: forge.EventPush, Repository: "teams/cart", Branch: "main"})
		time.Sleep(time.Second)
		d.mu.Lock()
		d.gone = cart
		d.mu.Unlock()
		k.Handle(forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "main"})
		time.Sleep(5 * time.Minute)
		if shown := labels(t, registry, "kalypso_application_phase"); slices.Contains(shown, "cart") || !slices.Contains(shown, "shop") {
			t.Errorf("shown are %q", shown)
		}
		for i := range k.rounds {
			if i.application == cart {
				t.Errorf("%v is still kept", i)
			}
		}
	})
}

func TestMetricsForgetWhatIsNotSoAnyMore(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	a := &query.Application{Name: "shop", Environments: []query.ApplicationEnvironment{{Environment: "dev", Phase: decide.Deploying}}}
	m.delivered(a)
	a.Environments[0].Phase = decide.Deployed
	m.delivered(a)
	if got := labels(t, registry, "kalypso_application_phase"); !slices.Equal(got, []string{"dev", "deployed", "shop"}) {
		t.Errorf("shown are %q", got)
	}
	m.undelivered(shop)
	for _, metric := range []string{"kalypso_application_phase", "kalypso_application_change_open"} {
		if got := labels(t, registry, metric); len(got) > 0 {
			t.Errorf("%s still shows %q", metric, got)
		}
	}
}

// labels are the values of the labels of a metric, of all its series.
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
