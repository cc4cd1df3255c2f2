package direct

import (
	"sync/atomic"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// What is healthy is looked at once a minute, and less often if there are many objects. Commits that change other targets make no difference.
func TestWhatIsHealthyIsLookedAtSeldom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), configMap("one", "1"))
	d, f := w.start()
	w.settle(d, f)
	w.now = w.now.Add(time.Minute)
	w.settle(d, nil)
	var looks atomic.Int32
	w.machine.got = func(path string) {
		if path == shopMap+"one" {
			looks.Add(1)
		}
	}
	w.now = w.now.Add(-40 * time.Second) // when it was looked at
	for _, commit := range []string{"1", "2", "3"} {
		w.set(shop, commit, inNamespace(), configMap("one", "1"))
		if err := f.once(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		d.renew()
		if _, err := d.Advance(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantReport(d, shop, hub.StateReady, commit, commit, "")
	}
	if n := looks.Load(); n != 0 {
		t.Errorf("looked %d times after commits that change nothing", n)
	}
	w.now = w.now.Add(lookSeldom)
	if _, err := d.Advance(t.Context()); err != nil || looks.Load() != 1 {
		t.Errorf("looked %d times after %s, want once; %v", looks.Load(), lookSeldom, err)
	}

	if got := d.rest(); got != lookSeldom {
		t.Errorf("two objects are looked at every %s", got)
	}
	d.states[shop].Objects = make([]ref, 20_000)
	if got := d.rest(); got != 2000*time.Second+100*time.Millisecond {
		t.Errorf("20,001 objects are looked at every %s", got)
	}
}
