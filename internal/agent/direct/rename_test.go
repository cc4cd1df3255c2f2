package direct

import (
	"errors"
	"sync"
	"testing"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// rename gives the platform's delivery, and what it declares, another name, as the server does when a cluster gets a second type in an environment.
func (w *world) rename(to string) {
	for i := range w.deliveries {
		d := &w.deliveries[i]
		if d.Of == "" {
			d.Name = to
		} else {
			d.Of = to
		}
	}
}

func TestAFolderOfThePlatformWithAnotherNameKeepsWhatRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace, configMap("old", "1"))
	w.set(shop, "b", inNamespace(), configMap("one", "1"))
	w.set("dev-shop/old", "b", inNamespace(), configMap("two", "1"))
	d, f := w.start()
	w.settle(d, f)
	uid := w.machine.objects["/api/v1/namespaces/dev-shop"]["metadata"].(map[string]any)["uid"]

	w.set(platform, "c", hub.DirectDeliverySpec{}, namespace, configMap("new", "1"))
	w.drop("dev-shop/old") // removed in the same moment
	w.rename("platform-dev-large")
	w.settle(d, f)
	w.settle(d, f)
	w.wantObjects("dev-shop", "new", "one")
	w.wantReport(d, "kalypso-agent/platform-dev-large", hub.StateReady, "ccc", "ccc", "")
	w.wantReport(d, shop, hub.StateReady, "bbb", "bbb", "")
	if got := w.machine.objects["/api/v1/namespaces/dev-shop"]["metadata"].(map[string]any)["uid"]; got != uid {
		t.Errorf("the namespace was created again")
	}
	if len(d.states) != 2 {
		t.Errorf("%d deliveries are known, want 2", len(d.states))
	}

	w.rename("platform-dev") // the second type is gone
	d, f = w.start()
	w.settle(d, f)
	w.wantReport(d, platform, hub.StateReady, "ccc", "ccc", "")
	w.wantObjects("dev-shop", "new", "one")
}

// TestCrashWhileRenaming stops the agent before each change that follows a rename.
func TestCrashWhileRenaming(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		w := newWorld(t)
		w.set(platform, "a", hub.DirectDeliverySpec{}, namespace, configMap("old", "1"))
		w.set(shop, "b", inNamespace(), configMap("one", "1"))
		w.set("dev-shop/old", "b", inNamespace(), configMap("two", "1"))
		d, f := w.start()
		w.settle(d, f)
		w.set(platform, "c", hub.DirectDeliverySpec{}, namespace, configMap("new", "1"))
		w.drop("dev-shop/old")
		w.rename("platform-dev-large")
		var mu sync.Mutex
		changes := 0
		step := func(string) error {
			mu.Lock()
			defer mu.Unlock()
			if changes++; changes > n {
				return errors.New("killed")
			}
			return nil
		}
		w.store.before = step
		w.machine.before = func(method, path string) error { return step(method + path) }
		_ = f.once(t.Context(), 0)
		for range 4 {
			_, _ = d.Advance(t.Context())
			w.now = w.now.Add(lookSeldom)
		}
		crashed := changes > n
		w.store.before, w.machine.before = nil, nil
		d, f = w.start()
		w.settle(d, f)
		w.settle(d, f)
		w.wantObjects("dev-shop", "new", "one")
		w.wantReport(d, "kalypso-agent/platform-dev-large", hub.StateReady, "ccc", "ccc", "")
		if len(d.states) != 2 {
			t.Errorf("%d deliveries are known, want 2", len(d.states))
		}
		if t.Failed() {
			t.Fatalf("killed before change %d", n+1)
		}
		if !crashed {
			t.Logf("%d changes", n)
			return
		}
	}
}
