package reconciler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

var (
	gits        = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
	kustomizes  = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	helms       = schema.GroupVersionResource{Group: "helm.toolkit.fluxcd.io", Version: "v2", Resource: "helmreleases"}
	apps        = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	gitRepos    = schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: "gitrepos"}
	bundles     = schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: "bundles"}
	deployments = explained["Deployment"]
	deploys     = schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: "bundledeployments"}
	widgets     = schema.GroupVersionResource{Group: "example.com", Version: "v3", Resource: "widgets"}
)

// served is a cluster's discovery: kinds by resource, and an error when it does not answer.
type served struct {
	mu    sync.Mutex
	kinds map[schema.GroupVersionResource]string
	err   error
}

func (s *served) set(change func(s *served)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *served) Versions(_ context.Context, group string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var versions []string
	for r := range s.kinds {
		if r.Group == group {
			versions = append(versions, r.Version)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(versions))), s.err
}

func (s *served) Kinds(_ context.Context, group, version string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds := map[string]string{}
	for r, kind := range s.kinds {
		if r.Group == group && r.Version == version {
			kinds[r.Resource] = kind
		}
	}
	return kinds, s.err
}

// world is a cluster and its watcher.
type world struct {
	*Watcher
	t      *testing.T
	client *fake.FakeDynamicClient
	served *served
	log    lines
	start  func() // lets the watcher run
}

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// watching calls test with a watcher, not started yet, of a cluster that serves Flux, in a bubble where time passes by itself.
func watching(t *testing.T, test func(w *world), objects ...*unstructured.Unstructured) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		kinds := map[schema.GroupVersionResource]string{
			gits: "GitRepository", kustomizes: "Kustomization", helms: "HelmRelease", widgets: "Widget",
			gitRepos: "GitRepo", bundles: "Bundle", deploys: "BundleDeployment",
		}
		lists := map[schema.GroupVersionResource]string{}
		for r, kind := range kinds {
			lists[r] = kind + "List"
		}
		for kind, r := range explained {
			lists[r] = kind + "List"
		}
		lists[widgets.GroupResource().WithVersion("v4")], lists[apps] = "WidgetList", "ApplicationList"
		var all []runtime.Object
		for _, o := range objects {
			all = append(all, o)
		}
		w := &world{t: t, client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, all...)}
		w.served = &served{kinds: maps.Clone(kinds)}
		w.Watcher = NewWatcher(w.client, w.served, []Kind{{Group: widgets.Group, Resource: widgets.Resource}},
			slog.New(slog.NewTextHandler(&w.log, nil)))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		w.start = func() { running.Go(func() { w.Run(ctx) }) }
		test(w)
	})
}

// wait lets everything happen that happens without time passing, and some that needs a moment.
func (w *world) wait(d time.Duration) Snapshot {
	time.Sleep(d) // in the bubble, where it takes no time
	synctest.Wait()
	return w.Snapshot()
}

func (w *world) want(s Snapshot, want string) {
	w.t.Helper()
	if got := describe(s); got != want {
		w.t.Errorf("got  %s\nwant %s", got, want)
	}
}

func describe(s Snapshot) string {
	var all []string
	for _, r := range s.Reports {
		all = append(all, fmt.Sprintf("%s %s/%s %s %s", r.Kind, r.Namespace, r.Name, r.Repository, r.State))
	}
	return fmt.Sprintf("%s | complete %t, alive %t, unread %v", strings.Join(all, ", "), s.Complete, s.Alive, s.Unread)
}

func git() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
		"metadata": map[string]any{"namespace": "flux-system", "name": "platform"},
		"spec":     map[string]any{"url": "https://example.com/gitops", "ref": map[string]any{"branch": "dev"}},
	}}
}

func kustomize(status string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
		"metadata": map[string]any{"namespace": "flux-system", "name": "dev"},
		"spec":     map[string]any{"sourceRef": map[string]any{"kind": "GitRepository", "name": "platform"}, "patches": []any{"secret"}},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status}}},
	}}
}

func TestWatcherFollowsChanges(t *testing.T) {
	t.Parallel()
	watching(t, func(w *world) {
		w.start()
		w.want(w.wait(time.Second), "Kustomization flux-system/dev https://example.com/gitops ready | complete true, alive true, unread []")

		<-w.Changed()
		of := w.client.Resource(kustomizes).Namespace("flux-system")
		if _, err := of.Update(w.t.Context(), kustomize("False"), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		<-w.Changed()
		w.want(w.Snapshot(), "Kustomization flux-system/dev https://example.com/gitops failed | complete true, alive true, unread []")

		if err := of.Delete(w.t.Context(), "dev", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-w.Changed()
		w.want(w.Snapshot(), " | complete true, alive true, unread []")
		for _, a := range w.client.Actions() {
			if !slices.Contains([]string{"list", "watch", "update", "delete"}, a.GetVerb()) {
				t.Errorf("it does more than read: %s", a.GetVerb())
			}
		}
	}, git(), kustomize("True"))
}

func TestWatcherForgetsWhatNobodyReads(t *testing.T) {
	t.Parallel()
	watching(t, func(w *world) {
		w.start()
		w.wait(time.Second)
		for _, o := range w.informers[kustomizes.GroupResource()].GetStore().List() {
			if text := fmt.Sprint(o); strings.Contains(text, "secret") {
				t.Errorf("it keeps %s", text)
			}
		}
	}, git(), kustomize("True"))
}

// The pages of a list are trimmed before all of them are in memory.
func TestListsAreTrimmed(t *testing.T) {
	t.Parallel()
	watching(t, func(w *world) {
		list, err := listWatch(w.client.Resource(kustomizes), Known()[3]).ListWithContext(t.Context(), metav1.ListOptions{})
		if err != nil || !strings.Contains(fmt.Sprint(list), "dev") || strings.Contains(fmt.Sprint(list), "secret") {
			t.Errorf("got %v, %v", list, err)
		}
	}, kustomize("True"))
}

// A kind that is not there is normal. It may come, go, and change its version.
func TestWatcherFollowsKinds(t *testing.T) {
	t.Parallel()
	watching(t, func(w *world) {
		w.served.set(func(s *served) { delete(s.kinds, kustomizes) })
		w.start()
		if s := w.wait(90 * time.Second); len(s.Reports) != 0 || !s.Complete {
			t.Errorf("absent: got %s", describe(s))
		}
		w.served.set(func(s *served) { s.kinds[kustomizes] = "Kustomization" })
		if s := w.wait(90 * time.Second); len(s.Reports) != 1 || !s.Complete {
			t.Errorf("there: got %s", describe(s))
		}
		w.served.set(func(s *served) {
			delete(s.kinds, widgets)
			s.kinds[widgets.GroupResource().WithVersion("v4")] = "Widget"
		})
		w.wait(90 * time.Second)
		if !strings.Contains(w.log.String(), "example.com/v4, Resource=widgets") {
			t.Errorf("another version: the log is\n%s", w.log.String())
		}
	}, kustomize("True"))
}

func TestWatcherDenied(t *testing.T) {
	t.Parallel()
	watching(t, func(w *world) {
		var allowed atomic.Bool
		w.client.PrependReactor("list", "helmreleases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return !allowed.Load(), nil, apierrors.NewForbidden(helms.GroupResource(), "", errors.New("no"))
		})
		w.start()
		w.want(w.wait(time.Minute), "Kustomization flux-system/dev  ready | complete true, alive true, unread [HelmRelease]")
		if n := strings.Count(w.log.String(), "bind the ClusterRole"); n != 1 {
			t.Errorf("said %d times what to do, want once:\n%s", n, w.log.String())
		}
		allowed.Store(true)
		if s := w.wait(2 * time.Minute); len(s.Unread) != 0 {
			t.Errorf("allowed: got %s", describe(s))
		}
	}, kustomize("True"))
}

// A GitRepo is reported together with its bundles: before they are read, and if they cannot be, nothing is said to be ready.
func TestWatcherReadsFleet(t *testing.T) {
	t.Parallel()
	recorded, err := txtar.ParseFile("testdata/fleet_ready.txtar")
	if err != nil {
		t.Fatal(err)
	}
	objects := parse(t, string(recorded.Files[0].Data))
	watching(t, func(w *world) {
		var slow, denied atomic.Bool
		slow.Store(true)
		w.client.PrependReactor("list", "bundledeployments", func(clienttesting.Action) (bool, runtime.Object, error) {
			switch {
			case denied.Load():
				return true, nil, apierrors.NewForbidden(deploys.GroupResource(), "", errors.New("no"))
			case slow.Load():
				return true, nil, apierrors.NewServiceUnavailable("later")
			}
			return false, nil, nil
		})
		w.start()
		w.want(w.wait(time.Second), " | complete false, alive true, unread []")
		denied.Store(true)
		const report = "GitRepo fleet-local/shop https://git.example.com/acme/shop "
		w.want(w.wait(2*time.Minute), report+"progressing | complete true, alive true, unread [BundleDeployment]")
		denied.Store(false)
		slow.Store(false)
		w.want(w.wait(2*time.Minute), report+"ready | complete true, alive true, unread []")
		for _, o := range w.informers[deploys.GroupResource()].GetStore().List() {
			if text := fmt.Sprint(o); strings.Contains(text, "f:spec") || strings.Contains(text, "options") {
				t.Errorf("it keeps %s", text)
			}
		}
	}, objects...)
}

func TestWatcherWithoutAnswer(t *testing.T) {
	t.Parallel()
	watching(t, func(w *world) {
		w.served.set(func(s *served) { s.err = errors.New("connection refused") })
		w.start()
		if s := w.wait(2 * time.Minute); s.Alive {
			t.Errorf("without an answer: got %s", describe(s))
		}
		w.served.set(func(s *served) { s.err = nil })
		if s := w.wait(2 * time.Minute); !s.Alive || !s.Complete || len(s.Reports) != 1 {
			t.Errorf("answers again: got %s", describe(s))
		}
	}, kustomize("True"))
}

// Nothing is complete before everything was looked at.
func TestSnapshotBeforeRun(t *testing.T) {
	t.Parallel()
	w := NewWatcher(nil, nil, nil, slog.New(slog.DiscardHandler))
	if s := w.Snapshot(); s.Complete || s.Alive {
		t.Errorf("got %s", describe(s))
	}
}

// counted counts the requests that a cluster's discovery gets.
type counted struct {
	Discovery
	n atomic.Int64
}

func (c *counted) Versions(ctx context.Context, group string) ([]string, error) {
	c.n.Add(1)
	return c.Discovery.Versions(ctx, group)
}

func (c *counted) Kinds(ctx context.Context, group, version string) (map[string]string, error) {
	c.n.Add(1)
	return c.Discovery.Kinds(ctx, group, version)
}

// TestRequestsAtRest: what does not change costs the API server at most 18 requests a minute. Nine watches, of which each is renewed after
// five to ten minutes, make it 20.
func TestRequestsAtRest(t *testing.T) {
	t.Parallel()
	resources := ""
	for i := range 2 * maxSuspects {
		resources += fmt.Sprintf("  - {group: apps, version: v1, kind: Deployment, namespace: shop, name: web-%02d, status: Synced}\n", i)
	}
	for name, tc := range map[string]struct {
		serves  func(*served)
		objects []*unstructured.Unstructured
	}{
		"Flux, Argo CD and Fleet": {func(s *served) { s.kinds[apps] = "Application" }, []*unstructured.Unstructured{git(), kustomize("True")}},
		"no reconciler":           {func(s *served) { clear(s.kinds) }, nil},
		"an Application that stays degraded without a known cause": {
			func(s *served) { s.kinds[apps] = "Application" }, parse(t, degradedApplication+resources),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			watching(t, func(w *world) {
				w.served.set(tc.serves)
				requests := &counted{Discovery: w.served}
				w.Discovery = requests
				w.start()
				for range 3 {
					w.wait(time.Minute)
				}
				before := int(requests.n.Load()) + len(w.client.Actions())
				const minutes = 10
				for range minutes {
					w.wait(time.Minute)
				}
				if n := int(requests.n.Load()) + len(w.client.Actions()) - before; n > 18*minutes || n < minutes {
					w.t.Errorf("%d requests in %d minutes, want at most 18 a minute", n, minutes)
				}
			}, tc.objects...)
		})
	}
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, text)[0]
}

// TestWorkloadsOfReleases: Flux calls a HelmRelease ready when Helm has installed it, whatever becomes of its pods later. The agent looks at
// its workloads.
func TestWorkloadsOfReleases(t *testing.T) {
	release := parsed(t, `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {namespace: shop, name: web},
		status: {conditions: [{type: Ready, status: "True"}], history: [{status: deployed, chartVersion: 1.2.3}]}}`)
	deployment := func(available int, release string) *unstructured.Unstructured {
		return parsed(t, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: other, name: api,
			labels: {helm.toolkit.fluxcd.io/name: %s, helm.toolkit.fluxcd.io/namespace: shop}}, spec: {replicas: 1},
			status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: %d, availableReplicas: %d,
				conditions: [{type: Available, status: "%s"}]}}`, release, available, available, map[int]string{0: "False", 1: "True"}[available]))
	}
	watching(t, func(w *world) {
		want := func(what string, state hub.State, health hub.Health, unhealthy int) {
			t.Helper()
			reports := w.wait(time.Second).Reports
			if len(reports) != 1 || reports[0].State != state || reports[0].Health != health || len(reports[0].Unhealthy) != unhealthy {
				t.Errorf("%s: got %+v, want %s, %s, %d objects", what, reports, state, health, unhealthy)
			}
		}
		w.start()
		want("works", hub.StateReady, hub.HealthHealthy, 0)
		put := func(u *unstructured.Unstructured) {
			t.Helper()
			if _, err := w.client.Resource(deployments).Namespace("other").Update(t.Context(), u, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		put(deployment(0, "web"))
		want("its pod is gone", hub.StateProgressing, hub.HealthProgressing, 1)
		crashed := deployment(0, "web")
		crashed.Object["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}}
		put(crashed)
		want("its pod crashes", hub.StateFailed, hub.HealthDegraded, 1)
		put(deployment(0, "another"))
		want("that of another release crashes", hub.StateReady, hub.HealthHealthy, 0)
	}, release, deployment(1, "web"))
}

// TestWorkloadsOfReleasesThatMayNotBeRead: without the right to read workloads, the health of a release is unknown, and the message says why.
func TestWorkloadsOfReleasesThatMayNotBeRead(t *testing.T) {
	release := parsed(t, `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {namespace: shop, name: web},
		status: {conditions: [{type: Ready, status: "True"}], history: [{status: deployed, chartVersion: 1.2.3}]}}`)
	watching(t, func(w *world) {
		w.client.PrependReactor("list", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(deployments.GroupResource(), "", errors.New("no"))
		})
		w.start()
		r := w.wait(time.Second).Reports
		if len(r) != 1 || r[0].State != hub.StateReady || r[0].Health != "" || !strings.Contains(r[0].Message, "may not list and watch workloads") {
			t.Errorf("got %+v", r)
		}
	}, release)
}
