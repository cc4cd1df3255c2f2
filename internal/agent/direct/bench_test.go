package direct

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// BenchmarkManyTargets is one cluster with 500 targets of 20 objects, each with an account of its own: the first deployment, an answer that changes one target, and what
// is in memory then, without the API server's objects.
func BenchmarkManyTargets(b *testing.B) {
	const targets, objects = 500, 20
	for b.Loop() {
		w := newWorld(b)
		w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
		documents := func(value string) (all []string) {
			for n := range objects {
				all = append(all, configMap(fmt.Sprint("settings-", n), "the value "+value+strings.Repeat(" some configuration", 50)))
			}
			return all
		}
		set := func(n int, commit, value string) {
			space := fmt.Sprint("t-", n)
			w.set(space+"/web", commit, hub.DirectDeliverySpec{TargetNamespace: space}, documents(value)...)
		}
		for n := range targets {
			set(n, "b", "1")
		}
		heap := func() float64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return float64(m.HeapAlloc) / 1e6
		}
		before := heap()
		d, f := w.start()
		if err := f.once(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
		advance := func() time.Duration {
			began := time.Now()
			if _, err := d.Advance(b.Context()); err != nil {
				b.Fatal(err)
			}
			return time.Since(began)
		}
		first := advance() // the platform leads, so this may need a second one
		w.now = w.now.Add(lookAgain)
		first += advance()
		ready := 0
		for _, r := range d.reports {
			if r.State == hub.StateReady {
				ready++
			}
		}
		if ready != targets+1 {
			b.Fatalf("%d are ready, want %d", ready, targets+1)
		}
		b.ReportMetric(first.Seconds(), "first-s")
		w.machine.mu.Lock()
		w.machine.objects, w.machine.accounts = map[string]map[string]any{}, map[string]string{}
		w.machine.mu.Unlock()
		b.ReportMetric(heap()-before, "MB")

		set(7, "c", "2")
		if err := f.once(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
		d.renew()
		b.ReportMetric(advance().Seconds()*1e3, "change-ms")
		w.wantReport(d, "t-7/web", hub.StateReady, "ccc", "ccc", "")
	}
}
