package direct

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// A delivery whose state cannot be read keeps what it has; the others go on. When the file is gone, it is applied again.
func TestADamagedStateKeepsOneDelivery(t *testing.T) {
	w := newWorld(t)
	const bank = "dev-bank/dev-bank"
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), configMap("shop", "1"), configMap("goes", "1"))
	w.set(bank, "c", inNamespace(), configMap("bank", "1"))
	w.settle(w.start())
	w.wantObjects("dev-shop", "shop", "goes", "bank")

	file := filepath.Join(w.store.Dir, "deliveries", stateName(shop))
	if err := os.WriteFile(file, []byte(`{"format":1,`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.set(shop, "d", inNamespace(), configMap("shop", "2"))
	w.set(bank, "e", inNamespace(), configMap("bank", "2"))
	d, f := w.start()
	if err := f.once(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if _, err := d.Advance(t.Context()); err == nil && len(d.stuck) == 0 {
			t.Error("got no error of the damaged file")
		}
		w.now = w.now.Add(10 * time.Second)
	}
	w.wantReport(d, bank, hub.StateReady, "eee", "eee", "")
	w.wantReport(d, shop, hub.StateFailed, "ddd", "", "what it has on the cluster is not known, and nothing is changed: read "+file)
	w.wantObjects("dev-shop", "shop", "goes", "bank")
	if data := fmt.Sprint(w.machine.objects["/api/v1/namespaces/dev-shop/configmaps/shop"]["data"]); data != "map[value:1]" {
		t.Errorf("the delivery was applied without its inventory: %s", data)
	}

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	d, f = w.start()
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateReady, "ddd", "ddd", "")
	w.wantObjects("dev-shop", "shop", "goes", "bank")
}

// A full disk is reported: otherwise the cluster would only seem slow.
func TestAFullDiskIsReported(t *testing.T) {
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), configMap("shop", "1"))
	d, f := w.start()
	if err := f.once(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	w.store.before = func(string) error { return syscall.ENOSPC }
	if _, err := d.Advance(t.Context()); err == nil {
		t.Error("got no error")
	}
	w.wantReport(d, shop, hub.StateFailed, "bbb", "", "store the state of dev-shop/dev-shop: no space left on device")
	w.wantObjects()

	w.store.before = nil
	w.now = w.now.Add(10 * time.Second)
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateReady, "bbb", "bbb", "")
	w.wantObjects("dev-shop", "shop")
}
