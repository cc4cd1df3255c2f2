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
	// Interval is how often it looks which kinds the cluster serves, and whether the cluster answers at all.
	// Default: one minute.
	Interval time.Duration

	changed chan struct{}

	mu sync.Mutex
	// informers are those of the kinds that the cluster serves.
	informers map[schema.GroupResource]*informer
	// looked are the kinds of which it is known whether the cluster serves them.
	looked map[schema.GroupResource]bool
	// answers says whether the cluster answered when it was asked last.
	answers bool
}

// informer is the store of one kind.
type informer struct {
	cache.SharedIndexInformer
	serving
	stop   context.CancelFunc
	denied bool // whether it may not be read
}

// Snapshot is what all reconcilers of a cluster say at one time.
type Snapshot struct {
	// Reports are sorted by kind, namespace and name. Their time is not set.
	Reports []hub.Report
	// Complete says that the cluster was read as a whole: what is not in Reports is not in the cluster,
	// except for what is of a kind in Unread.
	Complete bool
	// Alive says that the cluster answered when it was last asked. If not, Reports may be old.
	Alive bool
	// Unread are the kinds that could not be read, such as "HelmRelease".
	Unread []string
}

// patience is how long the cluster may take to answer a question.
const patience = 10 * time.Second

// NewWatcher returns a watcher of the known kinds and some more.
func NewWatcher(client dynamic.Interface, discovery Discovery, more []Kind, log *slog.Logger) *Watcher {
	return &Watcher{
		Client: client, Discovery: discovery, Kinds: append(Known(), more...), Log: log, Interval: time.Minute,
		changed:   make(chan struct{}, 1),
		informers: map[schema.GroupResource]*informer{}, looked: map[schema.GroupResource]bool{},
	}
}

// Changed receives when the snapshot may have changed since it received last.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

func (w *Watcher) poke() {
	select {
	case w.changed <- struct{}{}:
	default: // it will be looked at in any case
	}
}

// Run watches until the context ends. It may be called once.
func (w *Watcher) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	// Client-go logs to the logger of its context.
	ctx, stop := context.WithCancel(logr.NewContextWithSlogLogger(ctx, w.Log))
	defer stop()
	ticker := time.NewTicker(cmp.Or(w.Interval, time.Minute))
	defer ticker.Stop()
	for {
		w.look(ctx, &running)
		w.poke()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look finds out what the cluster serves, and starts and stops informers accordingly.
func (w *Watcher) look(ctx context.Context, running *sync.WaitGroup) {
	alive := true
	for _, k := range w.Kinds {
		patient, done := context.WithTimeout(ctx, patience)
		as, err := find(patient, w.Discovery, k)
		done()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			// Nothing is known about the kind: what was known of it before, stays.
			w.Log.Warn("cannot tell whether the cluster serves a kind", "kind", k.GroupResource().String(), "error", err)
			alive = false
			w.answered(false) // at once: it may take long until the other kinds have been asked for
			continue
		}
		w.settle(ctx, running, k, as)
	}
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
	w.looked[k.GroupResource()] = true
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
	w.Log.Info("watch", "kind", as.resource.String())
	i := w.inform(ctx, k, as)
	w.informers[k.GroupResource()] = i
	ctx, i.stop = context.WithCancel(ctx)
	running.Go(func() { i.RunWithContext(ctx) })
	running.Go(func() {
		// An empty store has no events that would say that it has been filled.
		select {
		case <-ctx.Done():
		case <-i.HasSyncedChecker().Done():
			w.poke()
		}
	})
}

// inform makes the informer of a kind. Whatever it hears of only pokes: the store is what counts.
func (w *Watcher) inform(ctx context.Context, k Kind, as serving) *informer {
	of := w.Client.Resource(as.resource)
	source := cache.ToListWatcherWithWatchListSemantics(listWatch(of), w.Client)
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
		AddFunc:    func(any) { w.poke() },
		UpdateFunc: func(any, any) { w.poke() },
		DeleteFunc: func(any) { w.poke() },
	})
	for _, err := range append(setup, err) {
		if err != nil {
			w.Log.ErrorContext(ctx, "set up an informer", "error", err) // it has not started: this cannot be
		}
	}
	return i
}

// broken notes why a watch broke off. The informer tries again by itself, with growing pauses.
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
		w.poke()
	case !denied:
		w.Log.Debug("a watch broke off", "kind", i.resource.GroupResource().String(), "error", err)
	}
}

// Snapshot returns what all reconcilers say now.
func (w *Watcher) Snapshot() Snapshot {
	w.mu.Lock()
	s := Snapshot{Alive: w.answers, Complete: true}
	stores := map[schema.GroupResource]cache.Store{}
	for _, k := range w.Kinds {
		i := w.informers[k.GroupResource()]
		switch {
		case i == nil && !w.looked[k.GroupResource()]:
			s.Complete = false
		case i == nil: // the cluster does not have it
		case i.HasSynced():
			stores[k.GroupResource()] = i.GetStore()
		case i.denied:
			s.Unread = append(s.Unread, i.kind)
		default:
			s.Complete = false
		}
	}
	w.mu.Unlock()

	for _, store := range stores {
		for _, o := range store.List() {
			if u, ok := o.(*unstructured.Unstructured); ok {
				s.Reports = append(s.Reports, Reports(u, findIn(stores))...)
			}
		}
	}
	slices.SortFunc(s.Reports, compare)
	slices.Sort(s.Unread)
	return s
}

func compare(a, b hub.Report) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// findIn finds sources of Flux, which are all that reconcilers name.
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
