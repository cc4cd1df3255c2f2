package simulate

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// Manifests of the fleet that most tests use: an application in a namespace of its own.
const (
	platformOfShop = `apiVersion: v1
kind: Namespace
metadata: {name: dev-large-shop, labels: {workload: shop, deploymentTarget: shop-test}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: platform-config, namespace: dev-large-shop}
data: {REGION: West US, DATABASE_URL: "mysql://west:3306/<db>"}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: dev-large-shop-test, namespace: flux-system}
spec: {interval: 1m, url: "https://git.example.com/shop", ref: {branch: dev}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: dev-large-shop-test, namespace: flux-system}
spec: {interval: 1m, prune: true, path: ./test, targetNamespace: dev-large-shop, sourceRef: {kind: GitRepository, name: dev-large-shop-test}}
`
	deploymentOfShop = `apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
        - name: shop
          image: example.com/shop:1
          envFrom: [{configMapRef: {name: platform-config}}]
          env: [{name: PORT, value: "9090"}]
`
	platform    = "Kustomization/platform-dev-large"
	application = "Kustomization/dev-large-shop-test"
)

// newShop is a world with a cluster that runs the shop.
func newShop(t testing.TB, c Config) *world {
	t.Helper()
	w := newWorld(t, c)
	w.push("gitops", "dev", map[string]string{"large/shop.yaml": platformOfShop})
	w.push("shop", "dev", map[string]string{"test/deployment.yaml": deploymentOfShop})
	w.add("large-01", Flux, "dev/large")
	return w
}

// more pushes another commit of the platform, with one more namespace.
func (w *world) more(name string) string {
	w.Helper()
	return w.push("gitops", "dev", map[string]string{
		"large/shop.yaml": platformOfShop, "large/more.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + "}\n",
	})
}

func (w *world) wantSaid(cluster, reconciler, want string) {
	w.Helper()
	if got := w.reported(cluster, reconciler); !strings.HasPrefix(got, want) {
		w.Errorf("%s of %s at %s: got %q, want %q", reconciler, cluster, w.now.Format(time.TimeOnly), got, want)
	}
}

func TestFailingClusterFailsUntilItRecovers(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{})
	first := w.pushedAndReady()
	w.must(w.Set("large-01", Behaviour{Mode: Failing}))
	w.pass(time.Second)
	w.wantSaid("large-01", platform, "failed "+first[:7]+` Namespace/first dry-run failed (Forbidden): admission webhook "simulated.kalypso.io" denied`)
	w.wantSaid("large-01", application, "failed")
	second := w.more("second")
	w.pass(10 * time.Second)
	w.wantSaid("large-01", platform, "failed "+second[:7])
	if objects := w.objects("large-01"); strings.Contains(objects, "second") || !strings.Contains(objects, "Deployment") {
		t.Errorf("a cluster that fails: got\n%swant what was there before, and no more", objects)
	}
	w.must(w.Set("large-01", Behaviour{}))
	w.pass(time.Second)
	w.wantSaid("large-01", platform, "ready "+second[:7])
	w.wantSaid("large-01", application, "ready")
}

// pushedAndReady lets the shop come to rest, and returns the commit of the platform that it runs.
func (w *world) pushedAndReady() string {
	w.Helper()
	commit := w.more("first")
	w.pass(15 * time.Second)
	w.wantSaid("large-01", platform, "ready "+commit[:7])
	w.wantSaid("large-01", application, "ready")
	return commit
}

func TestFailingOnlyOneWorkload(t *testing.T) {
	t.Parallel()
	for _, only := range []string{"shop", "shop-test", "dev-large-shop-test"} {
		w := newShop(t, Config{})
		w.pushedAndReady()
		w.must(w.Set("large-01", Behaviour{Mode: Failing, Only: only}))
		w.pass(15 * time.Second)
		w.wantSaid("large-01", platform, "ready")
		w.wantSaid("large-01", application, "failed")
		if got := w.reported("large-01", application); !strings.Contains(got, "Deployment/dev-large-shop/shop dry-run failed") {
			t.Errorf("only %s: got %q, want a message that names the Deployment", only, got)
		}
	}
}

func TestOfflineClusterIsSilentAndCatchesUp(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{})
	first := w.pushedAndReady()
	w.must(w.Set("large-01", Behaviour{Mode: Offline}))
	batches := len(w.server.batches)
	second := w.more("second")
	w.pass(5 * time.Minute)
	if more := len(w.server.batches) - batches; more != 0 {
		t.Errorf("offline: got %d batches, want none", more)
	}
	w.wantSaid("large-01", platform, "ready "+first[:7])
	w.must(w.Set("large-01", Behaviour{Mode: Healthy}))
	w.pass(2 * time.Second)
	w.wantSaid("large-01", platform, "ready "+second[:7])
}

func TestSlowClusterTakesLonger(t *testing.T) {
	t.Parallel()
	delay := Delay{Least: 4 * time.Second, Most: 4 * time.Second}
	reached := func(lag float64) time.Duration {
		w := newShop(t, Config{Delay: delay})
		w.must(w.Set("large-01", Behaviour{Mode: Slow, Lag: lag}))
		for !strings.HasPrefix(w.reported("large-01", platform), "ready") && w.now.Sub(noon) < time.Hour {
			w.pass(time.Second)
		}
		return w.now.Sub(noon)
	}
	if usual, slow := reached(1), reached(10); usual != 4*time.Second || slow != 40*time.Second {
		t.Errorf("got %v as usual and %v ten times slower, want 4s and 40s", usual, slow)
	}
	w := newShop(t, Config{Delay: delay})
	w.must(w.Set("large-01", Behaviour{Mode: Slow, Lag: 1000}))
	w.pass(10 * time.Second)
	w.must(w.Set("large-01", Behaviour{}))
	w.pass(10 * time.Second)
	w.wantSaid("large-01", platform, "ready")
}

func TestProgressIsReported(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{Delay: Delay{Least: 20 * time.Second, Most: 20 * time.Second}})
	w.pass(10 * time.Second)
	w.wantSaid("large-01", platform, "progressing")
	w.pass(15 * time.Second)
	w.wantSaid("large-01", platform, "ready")
	w.wantSaid("large-01", application, "progressing")
}

func TestSetRefusesInvalidBehaviour(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{})
	for _, b := range []Behaviour{{Mode: "dance"}, {Mode: Slow, Lag: -1}, {Mode: Slow, Lag: 1e9}} {
		if err := w.Set("large-01", b); err == nil {
			t.Errorf("%+v: got no error", b)
		}
	}
	if err := w.Set("large-02", Behaviour{}); !errors.Is(err, ErrUnknownCluster) {
		t.Errorf("got %v, want ErrUnknownCluster", err)
	}
	for text, want := range map[string]Mode{"recover": Healthy, "fail": Failing, "offline": Offline, "slow": Slow} {
		if got, err := ParseMode(text); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
}
