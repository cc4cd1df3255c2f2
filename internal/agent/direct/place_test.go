package direct

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// wait waits until the reports of a running agent say something.
func (w *world) wait(d *Deliverer, until func(reports map[string]hub.Report) bool) {
	w.t.Helper()
	for {
		d.mu.Lock()
		reports := map[string]hub.Report{}
		for _, r := range d.reports {
			reports[r.Namespace+"/"+r.Name] = r
		}
		d.mu.Unlock()
		if until(reports) {
			return
		}
		select {
		case <-d.Changed():
		case <-time.After(5 * time.Minute): // fails the test instead of hanging
			w.t.Fatalf("still waiting, with the reports %+v", reports)
		}
	}
}

// running starts an agent, and returns a function that stops it.
func (w *world) running(d *Deliverer) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// More deliveries are slow than are worked on at once: each holds only its own place.
func TestDeliveriesThatAreSlowDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set("dev-shop/b-failing", "b", inNamespace(), configMap("failing", "1"))
	const slow, others = 2*poolSize + 1, 3 * poolSize
	for n := range slow {
		w.set(fmt.Sprint("dev-shop/a-slow-", n), "b", inNamespace(), configMap(fmt.Sprint("slow-", n), "1"))
	}
	for n := range others {
		w.set(fmt.Sprint("dev-shop/other-", n), "b", inNamespace(), configMap(fmt.Sprint("other-", n), "1"))
	}
	w.set("dev-shop/a-unknown", "b", inNamespace(), "apiVersion: slow.example.com/v1\nkind: Slow\nmetadata: {name: unknown}\n")
	w.machine.denied = map[string]bool{"failing": true}
	answer := make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	defer release()
	w.machine.got = func(path string) {
		if strings.Contains(path, "/slow") { // objects, and the kinds of a group
			<-answer
		}
	}
	d, f := w.start()
	d.turn = time.Millisecond
	if err := f.once(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	defer w.running(d)()

	ready := func(reports map[string]hub.Report) (n int) {
		for _, r := range reports {
			if r.State == hub.StateReady {
				n++
			}
		}
		return n
	}
	w.wait(d, func(reports map[string]hub.Report) bool {
		for n := range slow {
			if reports[fmt.Sprint("dev-shop/a-slow-", n)].Message != "is being applied" {
				return false
			}
		}
		return ready(reports) == others+1 && reports["dev-shop/b-failing"].State == hub.StateFailed
	})
	release()
	w.wait(d, func(reports map[string]hub.Report) bool { return ready(reports) == others+slow+1 })
	w.set("dev-shop/other-0", "c", inNamespace(), configMap("other-0", "2"))
	if err := f.once(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	d.Wake()
	w.wait(d, func(reports map[string]hub.Report) bool {
		r := reports["dev-shop/other-0"]
		return r.State == hub.StateReady && strings.HasPrefix(r.Applied, "ccc")
	})
}

// A delivery that is slow and holds memory that another one needs goes on after it, where it was.
func TestADeliveryThatIsSlowGivesWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set("dev-shop/a-slow", "b", inNamespace(), configMap("slow-1", "1"), configMap("slow-2", "1"))
	w.set("dev-shop/b-other", "b", inNamespace(), configMap("other", "1"))
	d, f := w.start()
	d.turn, d.most = time.Millisecond, 1 // memory for one of them
	isShort := func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.places.short && d.tracks["dev-shop/a-slow"].place.slow
	}
	var applied []string
	w.machine.before = func(_, path string) error {
		if _, name, ok := strings.Cut(path, "/configmaps/"); ok {
			applied = append(applied, name)
		}
		return nil
	}
	var first sync.Once
	w.machine.got = func(path string) {
		if strings.HasSuffix(path, "/slow-1") {
			first.Do(func() {
				for !isShort() && t.Context().Err() == nil {
					runtime.Gosched()
				}
			})
		}
	}
	if err := f.once(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	defer w.running(d)()
	w.wait(d, func(reports map[string]hub.Report) bool {
		return reports["dev-shop/a-slow"].State == hub.StateReady && reports["dev-shop/b-other"].State == hub.StateReady
	})
	w.machine.mu.Lock()
	defer w.machine.mu.Unlock()
	if want := []string{"slow-1", "other", "slow-2"}; !slices.Equal(applied, want) {
		t.Errorf("applied %q, want %q", applied, want)
	}
}
