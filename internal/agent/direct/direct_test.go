package direct

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/artifact"
)

const shopMap = "/api/v1/namespaces/dev-shop/configmaps/"

func TestDeploysChangesAndRemoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), configMap("one", "1"), configMap("two", "1"), "# a document of the server\napiVersion: hub.kalypso.io/v1alpha1\nkind: DirectDelivery\nmetadata: {name: evil}\n")
	d, f := w.start()
	w.settle(d, f)
	w.wantObjects("dev-shop", "one", "two")
	w.wantReport(d, platform, hub.StateReady, "aaa", "aaa", "")
	w.wantReport(d, shop, hub.StateReady, "bbb", "bbb", "")
	for path, want := range map[string]string{shopMap + "one": "system:serviceaccount:dev-shop:reconciler", "/api/v1/namespaces/dev-shop": ""} {
		if got := w.machine.accounts[path]; got != want {
			t.Errorf("%s was applied as %q, want %q", path, got, want)
		}
	}

	w.set(shop, "c", inNamespace(), configMap("two", "2"), configMap("three", "1"))
	w.settle(d, f)
	w.wantObjects("dev-shop", "two", "three")
	w.wantReport(d, shop, hub.StateReady, "ccc", "ccc", "")

	// A folder that cannot be read says nothing.
	w.deliveries = nil
	w.deliveries = append(w.deliveries, hub.Delivery{Namespace: "kalypso-agent", Name: "platform-dev", Error: "the repository does not answer"})
	w.settle(d, f)
	w.wantObjects("dev-shop", "two", "three")
	w.wantReport(d, platform, hub.StateReady, "aaa", "aaa", "")

	// Neither does an empty answer.
	w.deliveries = []hub.Delivery{}
	w.settle(d, f)
	w.wantObjects("dev-shop", "two", "three")

	w.set(platform, "d", hub.DirectDeliverySpec{}, configMap("left", "1"))
	w.settle(d, f)
	w.wantObjects("left")
	if len(d.states) != 1 {
		t.Errorf("%d deliveries are known, want that of the platform", len(d.states))
	}
}

func TestAnEmptyFolderRemovesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	d, f := w.start()
	w.settle(d, f)
	w.set(platform, "b", hub.DirectDeliverySpec{}, "# nothing")
	w.settle(d, f)
	w.wantObjects("dev-shop")
	w.wantReport(d, platform, hub.StateFailed, "bbb", "aaa", "nothing is removed")
}

// A target that was uninstalled has a kustomization that lists nothing, in so many words.
func TestAKustomizationWithoutResourcesRemovesEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	empty := []artifact.File{{Path: "kustomization.yaml", Content: []byte("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n")}}
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), configMap("one", "1"))
	d, f := w.start()
	w.settle(d, f)
	w.pack(shop, "c", inNamespace(), empty)
	w.settle(d, f)
	w.wantObjects("dev-shop")
	w.wantReport(d, shop, hub.StateReady, "ccc", "ccc", "")
	w.now = w.now.Add(time.Minute)
	w.set(shop, "d", inNamespace(), configMap("two", "1"))
	w.settle(d, f)
	w.wantObjects("dev-shop", "two")

	w.now = w.now.Add(time.Minute)
	w.pack(platform, "e", hub.DirectDeliverySpec{}, empty)
	w.settle(d, f)
	w.wantObjects("dev-shop", "two")
	w.wantReport(d, platform, hub.StateFailed, "eee", "aaa", "nothing is removed")
}

func TestObjectsOfOthersAreRefusedAndNotRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), configMap("mine", "1"), configMap("foreign", "1"))
	w.machine.edit(shopMap+"foreign", func(o map[string]any) { o["data"] = "by hand" })
	d, f := w.start()
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateFailed, "bbb", "", `1 of 2 objects were applied; not applied: ConfigMap dev-shop/foreign: it exists and belongs to no delivery`)
	if got := w.machine.objects[shopMap+"foreign"]["data"]; got != "by hand" {
		t.Errorf("the object of another owner is %v", got)
	}
	w.set(shop, "c", inNamespace(), configMap("mine", "1"))
	w.settle(d, f)
	w.wantObjects("dev-shop", "mine", "foreign")
	w.wantReport(d, shop, hub.StateReady, "ccc", "ccc", "")

	// Handed over by hand.
	w.machine.edit(shopMap+"foreign", func(o map[string]any) {
		o["metadata"].(map[string]any)["annotations"] = map[string]any{AnnotationDelivery: shop}
	})
	w.set(shop, "d", inNamespace(), configMap("foreign", "1"))
	w.settle(d, f)
	w.wantObjects("dev-shop", "foreign")
}

func TestWhatTheAccountMayNotApplyIsNotRemovedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.machine.denied = map[string]bool{"denied": true}
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), configMap("mine", "1"), configMap("denied", "1"))
	d, f := w.start()
	w.settle(d, f)
	w.wantObjects("dev-shop", "mine")
	w.wantReport(d, shop, hub.StateFailed, "bbb", "", "1 of 2 objects were applied; not applied: ConfigMap dev-shop/denied: cannot get denied")
	w.set(shop, "c", inNamespace(), configMap("mine", "1"))
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateReady, "ccc", "ccc", "")
}

func deployment(image string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1, image: " + image + "}\n"
}

// run sets the status of the Deployment as its controller would.
func (w *world) run(available int64) {
	w.machine.edit("/apis/apps/v1/namespaces/dev-shop/deployments/web", func(o map[string]any) {
		is := map[bool]string{true: "True", false: "False"}[available > 0]
		o["status"] = map[string]any{
			"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": available, "availableReplicas": available,
			"conditions": []any{map[string]any{"type": "Available", "status": is}},
		}
	})
}

func TestRollsBackWhatDoesNotBecomeHealthy(t *testing.T) {
	t.Parallel()
	for _, rollback := range []bool{true, false} {
		w := newWorld(t)
		spec := inNamespace()
		spec.Rollback = rollback
		w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
		w.set(shop, "b", spec, deployment("v1"))
		d, f := w.start()
		w.settle(d, f)
		w.wantReport(d, shop, hub.StateProgressing, "bbb", "bbb", "Deployment dev-shop/web")
		w.run(1)
		w.settle(d, nil)
		w.wantReport(d, shop, hub.StateReady, "bbb", "bbb", "")

		w.run(0)
		w.set(shop, "c", spec, deployment("v2"), configMap("new", "1"))
		w.settle(d, f)
		w.wantReport(d, shop, hub.StateProgressing, "ccc", "ccc", "0 of 1 replicas are available")
		w.now = w.now.Add(3 * time.Minute)
		w.settle(d, nil)
		if !rollback {
			w.wantObjects("dev-shop", "web", "new")
			w.wantReport(d, shop, hub.StateFailed, "ccc", "ccc", "did not become healthy within 3m0s: Deployment dev-shop/web")
			continue
		}
		w.run(1)
		w.settle(d, f) // the server repeats what was rejected
		w.wantObjects("dev-shop", "web")
		w.wantReport(d, shop, hub.StateFailed, "ccc", "bbb", "did not become healthy within 3m0s: Deployment dev-shop/web is progressing: 0 of 1 replicas are available; rolled back to bbbbbbb")
		if got := fmt.Sprint(w.machine.objects["/apis/apps/v1/namespaces/dev-shop/deployments/web"]["spec"]); !strings.Contains(got, "v1") {
			t.Errorf("got %s, want the version before", got)
		}

		// So it does after a restart, and a new commit is tried.
		d, f = w.start()
		w.settle(d, f)
		w.wantReport(d, shop, hub.StateFailed, "ccc", "bbb", "rolled back to bbbbbbb")
		w.set(shop, "d", spec, deployment("v3"))
		w.settle(d, f)
		w.wantReport(d, shop, hub.StateReady, "ddd", "ddd", "")
	}
}

// The branch of many targets gets commits all the time. Only a commit that changes a target is one for it.
func TestCommitsOfOtherTargets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := inNamespace()
	spec.Rollback = true
	applied := 0
	w.machine.before = func(_, path string) error {
		if strings.HasSuffix(path, "/web") {
			applied++
		}
		return nil
	}
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", spec, deployment("v1"))
	d, f := w.start()
	w.settle(d, f)
	w.run(1)
	w.settle(d, nil)
	w.set(shop, "1", spec, deployment("v1"))
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateReady, "111", "111", "")
	if applied != 1 {
		t.Errorf("applied %d times, want once", applied)
	}

	// They do not give a version that does not become healthy more time.
	w.run(0)
	for _, commit := range []string{"c", "2", "3", "4", "5", "6"} {
		w.set(shop, commit, spec, deployment("v2"))
		w.settle(d, f)
		w.now = w.now.Add(20 * time.Second)
	}
	w.run(1)
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateFailed, "666", "111", "did not become healthy within 3m0s: Deployment dev-shop/web is progressing: 0 of 1 replicas are available; rolled back to 1111111")
	if applied != 3 {
		t.Errorf("applied %d times, want three times", applied)
	}

	// And what was rolled back is not tried again, until its content changes.
	for _, commit := range []string{"7", "8"} {
		w.set(shop, commit, spec, deployment("v2"))
		w.settle(d, f)
		w.wantReport(d, shop, hub.StateFailed, commit, "111", "rolled back to 1111111")
		d, f = w.start()
	}
	if applied != 4 { // the last start applied what runs again
		t.Errorf("applied %d times, want four times", applied)
	}
	w.set(shop, "d", spec, deployment("v1")) // it is reverted
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateReady, "ddd", "ddd", "")
	w.set(shop, "e", spec, deployment("v2")) // and proposed again
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateReady, "eee", "eee", "")
}

func TestAnOutageIsNotARollout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := inNamespace()
	spec.Rollback = true
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", spec, deployment("v1"))
	d, f := w.start()
	w.settle(d, f)
	w.run(1)
	w.settle(d, nil)
	w.run(0)
	w.set(shop, "c", spec, deployment("v2"))
	w.settle(d, f)
	w.now = w.now.Add(time.Hour)
	d, f = w.start()
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateProgressing, "ccc", "ccc", "0 of 1 replicas are available")
	w.run(1)
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateReady, "ccc", "ccc", "")
}

func TestAnArchiveThatIsDamagedIsNotAppliedInPart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), configMap("one", "1"), "kind: ConfigMap\nmetadata: {name: without-version}")
	d, f := w.start()
	w.settle(d, f)
	w.wantObjects("dev-shop")
	w.wantReport(d, shop, hub.StateFailed, "bbb", "", `nothing was applied: all.yaml: a document has apiVersion ""`)

	w.set(shop, "c", inNamespace(), configMap("one", "1"))
	digest := w.deliveries[1].Digest
	good := w.archives[digest]
	w.archives[digest] = bytes.Repeat([]byte("x"), len(good))
	if err := f.once(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "refused: the archive has digest") {
		t.Errorf("got %v", err)
	}
	w.settle(d, nil)
	w.wantObjects("dev-shop")
	w.archives[digest] = good
	w.settle(d, f)
	w.wantObjects("dev-shop", "one")
}

func TestADownloadGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.cut = 50
	d, f := w.start()
	total := len(w.archives[w.deliveries[0].Digest])
	for n := 0; f.once(t.Context(), 0) != nil; n++ {
		if n > total/w.cut {
			t.Fatal("the download does not end")
		}
		d, f = w.start() // interrupted as well
	}
	if w.sent != total {
		t.Errorf("%d bytes were sent for an archive of %d", w.sent, total)
	}
	w.settle(d, nil)
	w.wantObjects("dev-shop")
}

func TestRefusesOtherAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	if err := w.store.open(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Accept(w.seal(w.key, "edge-1", 7)); err != nil {
		t.Fatal(err)
	}
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte("o"), 32))
	for name, envelope := range map[string][]byte{
		"is not signed with the key of the server": w.seal(other, "edge-1", 8),
		`it is for cluster "edge-2"`:               w.seal(w.key, "edge-2", 8),
		"it is number 6, and number 7":             w.seal(w.key, "edge-1", 6),
		"it is number 7, and number 7":             w.seal(w.key, "edge-1", 7),
		"read the signature":                       []byte("{"),
	} {
		if _, err := w.store.Accept(envelope); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
	if last, err := w.store.Desired(); err != nil || last.Number != 7 {
		t.Errorf("got %+v, %v", last, err)
	}
	// What is on disk is verified, too.
	if err := os.WriteFile(w.store.desiredFile(), w.seal(other, "edge-1", 9), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := w.start()
	if _, err := d.Advance(t.Context()); err == nil {
		t.Error("an answer on disk with a signature of another key was used")
	}
	w.wantObjects()
}

func TestAnotherKeyIsInstalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	d, f := w.start()
	w.settle(d, f)
	w.key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte("n"), 32))
	w.set(platform, "b", hub.DirectDeliverySpec{}, namespace, configMap("new", "1"))
	w.settle(d, f)
	w.wantObjects("dev-shop")

	w.store.Key = w.key.Public().(ed25519.PublicKey)
	d, f = w.start()
	if err := f.once(t.Context(), 0); err != nil {
		t.Fatalf("an answer with the key that was installed: %v", err)
	}
	w.settle(d, f)
	w.wantObjects("dev-shop", "new")
}

func TestOnlyTheFolderThatDeclaresADeliveryRemovesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const other = "kalypso-agent/platform-prod"
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(other, "a", hub.DirectDeliverySpec{}, configMap("prod", "1"))
	w.deliveries[1].Of, w.deliveries[1].Spec.ServiceAccount = "", ""
	w.set(shop, "b", inNamespace(), configMap("one", "1"))
	d, f := w.start()
	w.settle(d, f)
	w.wantObjects("dev-shop", "one", "prod")

	// The document moves to another folder, which cannot be read later.
	w.deliveries[2].Of = "platform-prod"
	w.now = w.now.Add(2 * time.Minute)
	w.settle(d, f)
	w.deliveries = w.deliveries[:2]
	w.deliveries[1].Error, w.deliveries[1].Digest, w.deliveries[1].Size = "the repository does not answer", "", 0
	w.now = w.now.Add(2 * time.Minute)
	w.settle(d, f)
	w.wantObjects("dev-shop", "one", "prod")
}

func TestAFolderOfThePlatformThatIsGoneRemovesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), configMap("one", "1"))
	d, f := w.start()
	w.settle(d, f)
	w.drop(shop)
	w.set(platform, "c", hub.DirectDeliverySpec{}, "# nothing")
	w.settle(d, f)
	w.settle(d, f)
	w.wantObjects("dev-shop", "one")
	w.wantReport(d, platform, hub.StateFailed, "ccc", "aaa", "nothing is removed")
	w.set(platform, "d", hub.DirectDeliverySpec{}, configMap("left", "1"))
	w.settle(d, f)
	w.wantObjects("left")
}

func TestGoesOnWithoutTheServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), configMap("one", "1"))
	d, f := w.start()
	w.settle(d, f)
	w.away = true
	w.now = w.now.Add(3 * 7 * 24 * time.Hour)
	w.machine.mu.Lock()
	delete(w.machine.objects, shopMap+"one")
	w.machine.mu.Unlock()
	d, f = w.start()
	w.settle(d, f)
	w.wantObjects("dev-shop", "one")
	w.wantReport(d, shop, hub.StateReady, "bbb", "bbb", "")
	w.away = false
	w.set(shop, "c", inNamespace(), configMap("two", "1"))
	w.settle(d, f)
	w.wantObjects("dev-shop", "two")
}

func TestWaitsForWhatItDependsOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := inNamespace()
	spec.DependsOn = []string{"dev-store"}
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", spec, configMap("one", "1"))
	w.set("dev-shop/dev-store", "c", inNamespace(), deployment("v1"))
	d, f := w.start()
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateProgressing, "bbb", "", "waits for dev-store")
	w.wantObjects("dev-shop", "web")
	w.run(1)
	w.settle(d, nil)
	w.settle(d, nil)
	w.wantReport(d, shop, hub.StateReady, "bbb", "bbb", "")
}

// TestCrashDuringARollback stops the agent before each change from a new version to the one before, and starts it again: the result is the same.
func TestCrashDuringARollback(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		w := newWorld(t)
		spec := inNamespace()
		spec.Rollback = true
		w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
		w.set(shop, "b", spec, deployment("v1"))
		d, f := w.start()
		w.settle(d, f)
		w.run(1)
		w.settle(d, f)
		w.set(shop, "c", spec, deployment("v2"), configMap("new", "1"))
		w.run(0)

		var mu sync.Mutex
		changes := 0
		crashed := func() bool {
			mu.Lock()
			defer mu.Unlock()
			return changes >= n
		}
		step := func(string) error {
			mu.Lock()
			defer mu.Unlock()
			if changes++; changes >= n {
				return errors.New("killed")
			}
			return nil
		}
		w.store.before = step
		w.machine.before = func(method, path string) error { return step(method + path) }
		run := func() {
			d, f = w.start()
			_ = f.once(t.Context(), 0)
			for range 10 {
				if _, err := d.Advance(t.Context()); err != nil && crashed() {
					return
				}
				w.now = w.now.Add(40 * time.Second)
			}
		}
		run()
		ended := !crashed()
		w.store.before, w.machine.before = nil, nil
		run()
		w.run(1)
		w.settle(d, f)
		w.now = w.now.Add(time.Minute)
		w.settle(d, f)
		w.wantObjects("dev-shop", "web")
		w.wantReport(d, shop, hub.StateFailed, "ccc", "bbb", "rolled back to bbbbbbb")
		if got := fmt.Sprint(w.machine.objects["/apis/apps/v1/namespaces/dev-shop/deployments/web"]["spec"]); !strings.Contains(got, "v1") {
			t.Errorf("got %s, want the version before", got)
		}
		if t.Failed() {
			t.Fatalf("killed before change %d", n)
		}
		if ended {
			t.Logf("%d changes", n-1)
			return
		}
	}
}

// TestCrash stops the agent before each change of the store and of the cluster, and starts it again: the result is the same.
func TestCrash(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		w := newWorld(t)
		spec := inNamespace()
		w.set(platform, "a", hub.DirectDeliverySpec{}, namespace, configMap("platform", "1"))
		w.set(shop, "b", spec, configMap("stays", "1"), configMap("goes", "1"))
		w.set("dev-shop/old", "b", spec, configMap("old", "1"))
		var mu sync.Mutex
		changes, crashed := 0, false
		step := func(string) error {
			mu.Lock()
			defer mu.Unlock()
			if changes++; crashed || changes == n+1 {
				crashed = true
				return errors.New("killed")
			}
			return nil
		}
		w.store.before = step
		w.machine.before = func(method, path string) error { return step(method + path) }
		run := func() {
			d, f := w.start()
			_ = f.once(t.Context(), 0)
			for range 4 {
				if _, err := d.Advance(t.Context()); err != nil || crashed {
					return
				}
				w.now = w.now.Add(10 * time.Second)
			}
		}
		run()
		if !crashed {
			w.drop("dev-shop/old")
			w.set(platform, "c", hub.DirectDeliverySpec{}, namespace)
			w.set(shop, "d", spec, configMap("stays", "2"), configMap("new", "1"))
			run()
		}
		if !crashed {
			t.Logf("%d changes", n)
			return
		}
		w.store.before, w.machine.before = nil, nil
		w.drop("dev-shop/old")
		w.set(platform, "c", hub.DirectDeliverySpec{}, namespace)
		w.set(shop, "d", spec, configMap("stays", "2"), configMap("new", "1"))
		d, f := w.start()
		w.settle(d, f)
		w.settle(d, f)
		w.wantObjects("dev-shop", "stays", "new")
		w.wantReport(d, shop, hub.StateReady, "ddd", "ddd", "")
		w.wantReport(d, platform, hub.StateReady, "ccc", "ccc", "")
		if t.Failed() {
			t.Fatalf("killed before change %d", n+1)
		}
	}
}
