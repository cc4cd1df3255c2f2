package direct

import (
	"fmt"
	"sync"
	"testing"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// What happens between the agent's read of an object and its write must not be overwritten.
func TestAnObjectThatChangesWhileItIsApplied(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(m *machine)
		state   hub.State
		message string
		data    string
	}{
		"is another owner's now": {func(m *machine) { m.recreate(shopMap + "one") }, hub.StateFailed, "it exists and belongs to no delivery", "by hand"},
		"was handed over": {func(m *machine) {
			m.edit(shopMap+"one", func(o map[string]any) {
				o["metadata"].(map[string]any)["annotations"] = map[string]any{AnnotationDelivery: "dev-bank/dev-bank"}
			})
		}, hub.StateFailed, "it belongs to the delivery dev-bank/dev-bank", "map[value:1]"},
		"was removed": {func(m *machine) {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.objects, shopMap+"one")
		}, hub.StateReady, "", "map[value:2]"},
		"was changed by its controller": {func(m *machine) {
			m.edit(shopMap+"one", func(o map[string]any) { o["status"] = "seen" })
		}, hub.StateReady, "", "map[value:2]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
			w.set(shop, "b", inNamespace(), configMap("one", "1"))
			d, f := w.start()
			w.settle(d, f)

			var once sync.Once
			w.machine.got = func(path string) {
				if path == shopMap+"one" {
					once.Do(func() { test.change(w.machine) })
				}
			}
			w.set(shop, "c", inNamespace(), configMap("one", "2"))
			w.settle(d, f)
			applied := "ccc"
			if test.state != hub.StateReady {
				applied = "bbb"
			}
			w.wantReport(d, shop, test.state, "ccc", applied, test.message)
			if got := fmt.Sprint(w.machine.objects[shopMap+"one"]["data"]); got != test.data {
				t.Errorf("the object has %s, want %s", got, test.data)
			}
		})
	}
}
