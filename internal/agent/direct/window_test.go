package direct

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// nights lets the cluster be changed from 2:00 to 5:00 in Berlin, which is 1:00 to 4:00 UTC in winter.
func (w *world) nights() {
	for i := range w.deliveries {
		if w.deliveries[i].Platform() {
			w.deliveries[i].Windows = []scheduler.Window{{Cron: "0 2 * * *", Duration: metav1.Duration{Duration: 3 * time.Hour}, TimeZone: "Europe/Berlin"}}
		}
	}
}

// at sets the clock to a time of the day, at or after now.
func (w *world) at(hour int) {
	next := time.Date(w.now.Year(), w.now.Month(), w.now.Day(), hour, 0, 0, 0, time.UTC)
	if next.Before(w.now) {
		next = next.Add(24 * time.Hour)
	}
	w.now = next
}

// value returns what a ConfigMap of the shop says.
func (w *world) value(name string) string {
	w.machine.mu.Lock()
	defer w.machine.mu.Unlock()
	return fmt.Sprint(w.machine.objects[shopMap+name]["data"])
}

func TestWhatIsStagedIsAppliedInTheWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), configMap("one", "1"))
	w.nights()
	d, f := w.start()
	w.settle(d, f)
	w.wantObjects()
	const waits = "is staged, downloaded and verified; waits for the window of the cluster that opens at 2026-11-21 01:00 UTC"
	w.wantReport(d, platform, hub.StateProgressing, "aaa", "", waits)
	w.wantReport(d, shop, hub.StateProgressing, "bbb", "", waits)

	// The agent knows the window without the server, also after a restart.
	w.away = true
	w.at(0)
	d, f = w.start()
	w.settle(d, f)
	w.wantObjects()
	w.at(1)
	w.settle(d, f)
	w.wantObjects("dev-shop", "one")
	w.wantReport(d, shop, hub.StateReady, "bbb", "bbb", "")

	// After the window, what runs is kept, and nothing else changes: neither new versions nor removals.
	w.at(4)
	w.away = false
	w.set(platform, "c", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "d", inNamespace(), configMap("one", "2"))
	w.nights()
	w.settle(d, f)
	w.machine.edit(shopMap+"one", func(o map[string]any) { o["data"] = "by hand" })
	w.now = w.now.Add(resync)
	w.settle(d, f)
	if got := w.value("one"); got != "map[value:1]" {
		t.Errorf("it says %s, want what runs", got)
	}
	w.wantReport(d, shop, hub.StateProgressing, "ddd", "bbb", "opens at 2026-11-22 01:00 UTC")
	w.wantReport(d, platform, hub.StateReady, "ccc", "ccc", "") // the commit changes nothing
	w.drop(shop)
	w.settle(d, f)
	w.wantObjects("dev-shop", "one")
	w.wantReport(d, shop, hub.StateProgressing, "bbb", "bbb", "is to be removed; waits for the window")
	w.at(1)
	w.settle(d, f)
	w.wantObjects("dev-shop")

	// Without windows it is changed at once.
	w.at(12)
	w.set(shop, "e", inNamespace(), configMap("two", "1"))
	w.deliveries[0].Windows = nil
	w.settle(d, f)
	w.wantObjects("dev-shop", "two")
}

func TestWhatBeganInAWindowIsFinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := inNamespace()
	spec.Rollback = true
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", spec, deployment("v1"))
	w.nights()
	w.at(1)
	d, f := w.start()
	w.settle(d, f)
	w.run(1)
	w.settle(d, nil)

	// A version is applied in part when the window ends.
	w.machine.before = func(_, path string) error {
		if strings.HasSuffix(path, "/two") {
			return errors.New("a webhook refuses it")
		}
		return nil
	}
	w.set(shop, "c", spec, configMap("one", "1"), configMap("two", "1"), deployment("v1"))
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateFailed, "ccc", "bbb", "2 of 3 objects were applied")
	w.now = time.Date(2026, 11, 21, 3, 59, 0, 0, time.UTC)
	w.at(4)
	w.machine.before = nil
	d, f = w.start()
	w.settle(d, f)
	w.settle(d, f)
	w.wantObjects("dev-shop", "one", "two", "web")

	// And a version that does not become healthy goes back.
	w.at(1)
	w.run(0)
	w.set(shop, "d", spec, deployment("v2"))
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateProgressing, "ddd", "ddd", "0 of 1 replicas are available")
	w.at(4)
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateFailed, "ddd", "ccc", "rolled back to ccccccc")
}

func TestAVersionThatCannotBeAppliedIsReportedBeforeTheWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), "kind: ConfigMap\nmetadata: {name: without-version}")
	w.nights()
	d, f := w.start()
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateFailed, "bbb", "", `cannot be applied when the cluster may be changed: all.yaml: a document has apiVersion ""`)
	w.set(shop, "c", inNamespace(), configMap("one", "1"))
	w.settle(d, f)
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateProgressing, "ccc", "", "is staged")
	w.wantObjects()
}

func TestAHoldKeepsTheCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	until := metav1.NewTime(w.now.Add(time.Hour))
	w.deliveries[0].Hold = &scheduler.Hold{Reason: "inventory", Until: &until}
	d, f := w.start()
	w.settle(d, f)
	w.wantObjects()
	w.wantReport(d, platform, hub.StateProgressing, "aaa", "", "is staged, downloaded and verified; the cluster is on hold until 2026-11-20 13:00 UTC: inventory")
	w.now = until.Time
	w.settle(d, f)
	w.wantObjects("dev-shop")
}

func TestWindowsThatCannotBeReadNeverOpen(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		window scheduler.Window
		want   string
	}{
		{scheduler.Window{Cron: "soon", Duration: metav1.Duration{Duration: time.Hour}}, "cannot be read: cron"},
		{scheduler.Window{Cron: "0 0 * * *", Duration: metav1.Duration{Duration: 24 * time.Hour}, TimeZone: "Mars"}, "cannot be read: time zone"},
		{scheduler.Window{Cron: "* * * * *", Duration: metav1.Duration{Duration: time.Minute}}, ""},
	} {
		why, until := closed(&hub.Delivery{Windows: []scheduler.Window{test.window}}, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
		if !strings.Contains(why, test.want) || (why == "") != (test.want == "") || !until.IsZero() {
			t.Errorf("%+v: got %q until %s, want %q", test.window, why, until, test.want)
		}
	}
}
