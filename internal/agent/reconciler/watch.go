package reconciler

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Watcher keeps the reconcilers of a cluster in memory.
type Watcher struct {
	Client    dynamic.Interface // required
	Discovery Discovery         // required
	Kinds     []Kind            // required
	Log       *slog.Logger      // required
	// Interval is the time between checks of which kinds the cluster serves, and whether it answers.
	// Default: one minute.
	Interval time.Duration
	// Destinations are those of Argo CD Applications that apply to other clusters.
	Destinations Destinations

	// server is the URL of the watched cluster's API server; empty if it is not known.
	server    string
	changed   chan struct{}
	explainer *explainer

	mu sync.Mutex
	// informers are those of the served kinds.
	informers map[schema.GroupResource]*informer
	// released are those of the workloads of releases.
	released map[schema.GroupResource]*informer
	// checked are the kinds of which it is known whether the cluster serves them.
	checked map[schema.GroupResource]bool
	// answers is set if the cluster answered the last check.
	answers bool
}

// informer is the store of one kind.
type informer struct {
	cache.SharedIndexInformer
	serving
	stop   context.CancelFunc
	denied bool // it may not be read
}

// Snapshot is the state of all reconcilers of a cluster at one time.
type Snapshot struct {
	// Reports are sorted by kind, namespace and name. Their time is not set.
	Reports []hub.Report
	// Others are the reports about other clusters, with an entry for each cluster of the destinations. It is nil if Applications
	// could not be read, so that nothing is known about them.
	Others map[string][]hub.Report
	// Unassigned counts the Applications that are not in any report, because no cluster has their destination.
	Unassigned map[string]int
	// Complete is set when the whole cluster was read: what is not in Reports does not exist, unless its kind is in Unread.
	Complete bool
	// Alive is set if the cluster answered the last check. Otherwise, Reports may be old.
	Alive bool
	// Unread are the kinds that could not be read, such as "HelmRelease".
	Unread []string
}

// checkTimeout is the timeout of a request.
const checkTimeout = 10 * time.Second

// NewWatcher returns a watcher of the known kinds and additional ones.
func NewWatcher(client dynamic.Interface, discovery Discovery, more []Kind, log *slog.Logger) *Watcher {
	return &Watcher{
		Client: client, Discovery: discovery, Kinds: append(Known(), more...), Log: log, Interval: time.Minute,
		changed: make(chan struct{}, 1), explainer: newExplainer(client, log),
		informers: map[schema.GroupResource]*informer{}, released: map[schema.GroupResource]*informer{}, checked: map[schema.GroupResource]bool{},
	}
}

// Changed receives a value when the snapshot may have changed since the last value.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

func (w *Watcher) notify() {
	select {
	case w.changed <- struct{}{}:
	default: // a value is waiting
	}
}

// Run watches until the context ends. It may be called once.
func (w *Watcher) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	// Client-go logs to the logger of its context.
	ctx, stop := context.WithCancel(logr.NewContextWithSlogLogger(ctx, w.Log))
	defer stop()
	running.Go(func() { w.explainer.run(ctx, w.notify) })
	ticker := time.NewTicker(cmp.Or(w.Interval, time.Minute))
	defer ticker.Stop()
	for {
		w.check(ctx, &running)
		w.notify()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// check determines which kinds the cluster serves, and starts and stops their informers.
func (w *Watcher) check(ctx context.Context, running *sync.WaitGroup) {
	alive, discovery := true, remember(w.Discovery)
	for _, k := range w.Kinds {
		bounded, done := context.WithTimeout(ctx, checkTimeout)
		as, err := find(bounded, discovery, k)
		done()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			// The previous result for this kind is kept.
			w.Log.Warn("cannot determine whether the cluster serves a kind", "kind", k.GroupResource().String(), "error", err)
			alive = false
			w.answered(false) // now, because checking the other kinds may take long
			continue
		}
		w.settle(ctx, running, k, as)
	}
	w.checkReleased(ctx, running)
	w.answered(alive)
}

func (w *Watcher) answered(alive bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = alive
}

// settle starts or stops the informer of a kind.
func (w *Watcher) settle(ctx context.Context, running *sync.WaitGroup, k Kind, as serving) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checked[k.GroupResource()] = true
	old := w.informers[k.GroupResource()]
	if old != nil && old.serving == as {
		return
	}
	if old != nil {
		w.Log.Info("stop watching", "kind", old.resource.String())
		old.stop()
		delete(w.informers, k.GroupResource())
	}
	if as.kind == "" {
		return
	}
	w.informers[k.GroupResource()] = w.begin(ctx, running, k, as)
}

// begin starts the informer of a kind.
func (w *Watcher) begin(ctx context.Context, running *sync.WaitGroup, k Kind, as serving) *informer {
	w.Log.Info("watch", "kind", as.resource.String())
	i := w.inform(ctx, k, as)
	ctx, i.stop = context.WithCancel(ctx)
	running.Go(func() { i.RunWithContext(ctx) })
	running.Go(func() {
		// An empty store sends no event when it is filled.
		select {
		case <-ctx.Done():
		case <-i.HasSyncedChecker().Done():
			w.notify()
		}
	})
	return i
}

// inform returns the informer of a kind. Its events only signal changes: snapshots read the store.
func (w *Watcher) inform(ctx context.Context, k Kind, as serving) *informer {
	of := w.Client.Resource(as.resource)
	source := cache.ToListWatcherWithWatchListSemantics(listWatch(of, k), w.Client)
	i := &informer{serving: as}
	i.SharedIndexInformer = cache.NewSharedIndexInformerWithOptions(source, &unstructured.Unstructured{}, cache.SharedIndexInformerOptions{})
	setup := []error{
		i.SetTransform(func(o any) (any, error) {
			if u, ok := o.(*unstructured.Unstructured); ok {
				return trim(u, k), nil
			}
			return o, nil
		}),
		i.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { w.broken(i, err) }),
	}
	_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { w.notify() },
		UpdateFunc: func(any, any) { w.notify() },
		DeleteFunc: func(any) { w.notify() },
	})
	for _, err := range append(setup, err) {
		if err != nil {
			w.Log.ErrorContext(ctx, "set up an informer", "error", err) // impossible before it has started
		}
	}
	return i
}

// broken handles the error of a watch. The informer retries with growing pauses.
func (w *Watcher) broken(i *informer, err error) {
	denied := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
	w.mu.Lock()
	first := denied && !i.denied
	i.denied = denied
	w.mu.Unlock()
	switch {
	case first:
		w.Log.Error("a kind cannot be read: bind the ClusterRole of the agent to its service account, "+
			"with get, list and watch on it", "kind", i.resource.GroupResource().String(), "error", err)
		w.notify()
	case !denied:
		w.Log.Debug("watch failed", "kind", i.resource.GroupResource().String(), "error", err)
	}
}

// Snapshot returns the current state of all reconcilers.
func (w *Watcher) Snapshot() Snapshot {
	w.mu.Lock()
	s := Snapshot{Alive: w.answers, Complete: true}
	stores := map[schema.GroupResource]cache.Store{}
	for _, k := range w.Kinds {
		i := w.informers[k.GroupResource()]
		switch {
		case i == nil && !w.checked[k.GroupResource()]:
			s.Complete = false
		case i == nil: // not served
		case i.HasSynced():
			stores[k.GroupResource()] = i.GetStore()
		case i.denied:
			s.Unread = append(s.Unread, i.kind)
		default:
			s.Complete = false
		}
	}
	if w.filling(fleetKind("bundles")) || w.filling(fleetKind("bundledeployments")) {
		delete(stores, fleetKind("gitrepos")) // a report without them would say less than is known in a moment
	}
	now := time.Now()
	released, complete := w.findReleases(now)
	s.Complete = s.Complete && complete
	w.mu.Unlock()

	if !slices.Contains(s.Unread, applicationKind) {
		s.Others = w.Destinations.others()
	}
	made := madeIn(stores)
	for _, store := range stores {
		for _, o := range store.List() {
			if u, ok := o.(*unstructured.Unstructured); ok {
				w.report(&s, u, findIn(stores), made, now)
			}
		}
	}
	for i := range s.Reports {
		if s.Reports[i].Kind == "HelmRelease" {
			released.judge(&s.Reports[i])
		}
	}
	w.explainer.fill(s.Reports, now)
	slices.SortFunc(s.Reports, compare)
	for _, reports := range s.Others {
		slices.SortFunc(reports, compare)
	}
	slices.Sort(s.Unread)
	return s
}

// report adds the reports of an object to those of the cluster that they are about.
func (w *Watcher) report(s *Snapshot, u *unstructured.Unstructured, find Find, made Made, now time.Time) {
	cluster, destination, known := w.clusterOf(u)
	switch {
	case !known:
		if s.Unassigned == nil {
			s.Unassigned = map[string]int{}
		}
		s.Unassigned[destination]++
	case cluster == "":
		reports := Reports(u, find, made, now)
		if u.GetKind() == applicationKind {
			suspect(reports, u.Object)
		}
		s.Reports = append(s.Reports, reports...)
	default:
		s.Others[cluster] = append(s.Others[cluster], Reports(u, find, made, now)...)
	}
}

// filling reports whether the objects of a kind are being read for the first time.
func (w *Watcher) filling(kind schema.GroupResource) bool {
	i := w.informers[kind]
	return i != nil && !i.HasSynced() && !i.denied
}

func compare(a, b hub.Report) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// findIn finds Flux sources, which are all that reconcilers reference.
func findIn(stores map[schema.GroupResource]cache.Store) Find {
	return func(kind, namespace, name string) *unstructured.Unstructured {
		store := stores[schema.GroupResource{Group: "source.toolkit.fluxcd.io", Resource: sourceResource(kind)}]
		if store == nil {
			return nil
		}
		o, ok, err := store.GetByKey(fmt.Sprintf("%s/%s", namespace, name))
		if err != nil || !ok {
			return nil
		}
		u, _ := o.(*unstructured.Unstructured)
		return u
	}
}

func fleetKind(resource string) schema.GroupResource {
	return schema.GroupResource{Group: fleetGroup, Resource: resource}
}

// madeIn returns what Fleet made of each GitRepo.
func madeIn(stores map[schema.GroupResource]cache.Store) Made {
	type key struct{ kind, namespace, gitRepo string }
	made, readable := map[key][]*unstructured.Unstructured{}, map[string]bool{}
	for kind, resource := range map[string]string{"Bundle": "bundles", "BundleDeployment": "bundledeployments"} {
		store := stores[fleetKind(resource)]
		if store == nil {
			continue
		}
		readable[kind] = true
		for _, o := range store.List() {
			if u, ok := o.(*unstructured.Unstructured); ok {
				namespace, gitRepo := madeOf(u)
				made[key{kind, namespace, gitRepo}] = append(made[key{kind, namespace, gitRepo}], u)
			}
		}
	}
	return func(kind, namespace, gitRepo string) ([]*unstructured.Unstructured, bool) {
		return made[key{kind, namespace, gitRepo}], readable[kind]
	}
}
