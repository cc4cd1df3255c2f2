package simulate

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// manyWorkloads is the folder of a cluster type with 20 assignments, and the repository of their applications.
func manyWorkloads(t testing.TB, w *world, version int) {
	t.Helper()
	platform, shops := map[string]string{}, map[string]string{}
	for i := range 20 {
		name := fmt.Sprintf("shop-%02d", i)
		text := strings.NewReplacer("dev-large-shop-test", name, "dev-large-shop", name, "./test", "./"+name, "West US", fmt.Sprint("West ", version)).Replace(platformOfShop)
		platform["large/"+name+"/all.yaml"] = text
		shops[name+"/deployment.yaml"] = deploymentOfShop
	}
	w.push("gitops", "dev", platform)
	w.push("shop", "dev", shops)
}

// thousand are clusters with 20 assignments each, which have applied them all.
func thousand(b *testing.B) *world {
	w := newWorld(b, Config{Delay: Delay{Most: 5 * time.Second}})
	manyWorkloads(b, w, 0)
	for i := range 1000 {
		w.add(fmt.Sprintf("large-%04d", i), Flux, "dev/large")
	}
	w.seconds(60)
	if got := w.reported("large-0999", "Kustomization/shop-19"); !strings.HasPrefix(got, "ready") {
		b.Fatalf("got %q", got)
	}
	return w
}

// seconds steps once a second, as a loop over many clusters does.
func (w *world) seconds(n int) {
	for range n {
		w.now = w.now.Add(time.Second)
		w.Step(w.Context(), w.now)
	}
}

// BenchmarkThousandIdle is a minute in which nothing changes: 12 looks of each cluster at 21 sources, and a heartbeat.
func BenchmarkThousandIdle(b *testing.B) {
	w := thousand(b)
	for b.Loop() {
		w.seconds(60)
	}
}

// BenchmarkThousandFollow is a minute in which a commit changes each of 20 assignments of 1,000 clusters.
func BenchmarkThousandFollow(b *testing.B) {
	w := thousand(b)
	version := 0
	for b.Loop() {
		version++
		manyWorkloads(b, w, version)
		w.seconds(60)
	}
}

// BenchmarkThousandMemory is what 1,000 clusters with 20 assignments hold.
func BenchmarkThousandMemory(b *testing.B) {
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		w := thousand(b)
		w.server.batches = nil
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		runtime.KeepAlive(w)
	}
}
