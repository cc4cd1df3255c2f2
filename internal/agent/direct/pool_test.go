package direct

import (
	"context"
	"fmt"
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
		case <-time.After(5 * time.Second):
			w.t.Fatalf("still waiting, with the reports %+v", reports)
		}
	}
}

func TestADeliveryThatIsSlowDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set("dev-shop/a-slow", "b", inNamespace(), configMap("slow", "1"))
	w.set("dev-shop/b-failing", "b", inNamespace(), configMap("failing", "1"))
	const others = 3 * poolSize
	for n := range others {
		w.set(fmt.Sprint("dev-shop/other-", n), "b", inNamespace(), configMap(fmt.Sprint("other-", n), "1"))
	}
	w.machine.denied = map[string]bool{"failing": true}
	answer := make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	defer release()
	w.machine.got = func(path string) {
		if strings.HasSuffix(path, "/slow") {
			<-answer
		}
	}
	d, f := w.start()
	if err := f.once(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	defer running.Wait()
	defer stop()

	ready := func(reports map[string]hub.Report) (n int) {
		for _, r := range reports {
			if r.State == hub.StateReady {
				n++
			}
		}
		return n
	}
	w.wait(d, func(reports map[string]hub.Report) bool {
		return ready(reports) == others+1 && reports["dev-shop/a-slow"].Message == "is being applied" && reports["dev-shop/b-failing"].State == hub.StateFailed
	})
	release()
	w.wait(d, func(reports map[string]hub.Report) bool { return ready(reports) == others+2 })
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
