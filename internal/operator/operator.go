package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Options are what an operator is made from.
type Options struct {
	// Config connects to the API server. // required
	Config *rest.Config
	// Tenants opens the connections of control planes. // required
	Tenants Tenants
	// Log receives what happens. // required
	Log *slog.Logger
	// Namespaces are those with ControlPlanes. Default: all.
	Namespaces []string
	// LeaseNamespace is the namespace of the Lease by which replicas elect their leader. Without it, there is no election.
	LeaseNamespace string
	// Health and Metrics are the addresses to listen on; empty for none.
	Health, Metrics string
	// Workers is the number of concurrent rounds. Default: 4.
	Workers int
	// Timeout limits a round of one environment. Default: five minutes.
	Timeout time.Duration
	// MaxAssignments is how many Assignment objects an environment can have. Default: 200.
	MaxAssignments int
}

// The Lease. A replica takes over after lease at the latest, once the leader no longer renews it.
const (
	leaseName = "kalypso-operator"
	lease     = 10 * time.Second
	renew     = 7 * time.Second
	retry     = 2 * time.Second
)

// Run runs an operator until the context ends, or it is no longer the leader.
func Run(ctx context.Context, o Options) error {
	logger := logr.FromSlogHandler(o.Log.Handler())
	ctrl.SetLogger(logger)
	m, err := newManager(o, logger)
	if err != nil {
		return err
	}
	changes := make(chan event.TypedGenericEvent[*v1alpha1.ControlPlane])
	workers := cmp.Or(o.Workers, 4)
	r := &Reconciler{
		Client: m.GetClient(), Reader: m.GetAPIReader(), Tenants: o.Tenants, Events: m.GetEventRecorder("kalypso-operator"),
		Timeout: o.Timeout, MaxAssignments: o.MaxAssignments, Share: &Share{Workers: workers},
		Wake: func(name types.NamespacedName) { go wake(ctx, changes, name) },
	}
	err = ctrl.NewControllerManagedBy(m).Named("controlplane").
		For(&v1alpha1.ControlPlane{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WatchesRawSource(source.Channel(changes, &handler.TypedEnqueueRequestForObject[*v1alpha1.ControlPlane]{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("make the controller: %w", err)
	}
	if err := m.Add(&documentWatch{cache: m.GetCache(), client: m.GetClient(), changes: changes, log: o.Log}); err != nil {
		return err
	}
	o.Log.Info("operator started", "namespaces", o.Namespaces, "workers", workers)
	if err := m.Start(ctx); err != nil {
		return fmt.Errorf("run the operator: %w", err)
	}
	o.Log.Info("operator stopped")
	return nil
}

// wake requests a round of a control plane.
func wake(ctx context.Context, changes chan<- event.TypedGenericEvent[*v1alpha1.ControlPlane], name types.NamespacedName) {
	plane := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	select {
	case changes <- event.TypedGenericEvent[*v1alpha1.ControlPlane]{Object: plane}:
	case <-ctx.Done():
	}
}

// Scheme returns the kinds that the operator reads and writes as Go types.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
}

func newManager(o Options, logger logr.Logger) (ctrl.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	namespaces := map[string]cache.Config{}
	for _, name := range o.Namespaces {
		namespaces[name] = cache.Config{}
	}
	duration := func(d time.Duration) *time.Duration { return &d }
	m, err := ctrl.NewManager(o.Config, ctrl.Options{
		Scheme: scheme, Logger: logger,
		Cache: cache.Options{
			DefaultNamespaces: namespaces, DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				configMapMetadata(): {Label: labels.SelectorFromSet(labels.Set{configurationLabel: configurationValue})},
			},
		},
		LeaderElection: o.LeaseNamespace != "", LeaderElectionNamespace: o.LeaseNamespace, LeaderElectionID: leaseName,
		// The process ends after the manager, so another replica need not wait for the end of the lease.
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 duration(lease), RenewDeadline: duration(renew), RetryPeriod: duration(retry),
		Metrics:                server.Options{BindAddress: cmp.Or(o.Metrics, "0")},
		HealthProbeBindAddress: cmp.Or(o.Health, "0"),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return m, errors.Join(m.AddHealthzCheck("running", healthz.Ping), m.AddReadyzCheck("read", synced(m.GetCache())))
}

// synced is ready once all ControlPlanes were read. Replicas that are not the leader are ready, too.
func synced(c cache.Cache) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the ControlPlanes were not read yet")
		}
		return nil
	}
}

func configMapMetadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return o
}

// documentWatch requests a round when an object that may be a document changes. It only shortens the wait: rounds list the objects themselves, so a
// kind that cannot be watched delays changes until the next round, and changes nothing else.
type documentWatch struct {
	cache   cache.Cache
	client  client.Client
	changes chan<- event.TypedGenericEvent[*v1alpha1.ControlPlane]
	log     *slog.Logger
}

// Start watches until the context ends.
func (w *documentWatch) Start(ctx context.Context) error {
	for _, kind := range documentKinds() {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(kind.GroupVersionKind)
		informer, err := w.cache.GetInformer(ctx, o, cache.BlockUntilSynced(false))
		if err != nil {
			w.log.Warn("changes of a kind are noticed by the next round only", "kind", kind.Kind, "error", err)
			continue
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { w.changed(ctx, o) },
			UpdateFunc: func(was, o any) {
				if !onlyStatus(was, o) {
					w.changed(ctx, o)
				}
			},
			DeleteFunc: func(o any) { w.changed(ctx, o) },
		})
		if err != nil {
			w.log.Warn("changes of a kind are noticed by the next round only", "kind", kind.Kind, "error", err)
		}
	}
	<-ctx.Done()
	return nil
}

// onlyStatus reports whether nothing but the status of an object has changed, which rounds write themselves. Kinds without a generation, such as
// ConfigMaps, have no status.
func onlyStatus(was, is any) bool {
	before, ok := was.(client.Object)
	after, too := is.(client.Object)
	return ok && too && after.GetGeneration() != 0 && before.GetUID() == after.GetUID() && before.GetGeneration() == after.GetGeneration() &&
		before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) && maps.Equal(before.GetLabels(), after.GetLabels()) &&
		maps.Equal(before.GetAnnotations(), after.GetAnnotations())
}

// changed requests a round of the control planes that may have an object as a document.
func (w *documentWatch) changed(ctx context.Context, o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	object, ok := o.(client.Object)
	if !ok {
		return
	}
	var planes v1alpha1.ControlPlaneList
	if err := w.client.List(ctx, &planes, client.InNamespace(object.GetNamespace())); err != nil {
		return // the cache ends with the context
	}
	for i := range planes.Items {
		if planes.Items[i].Spec.Source.Objects == nil {
			continue
		}
		select {
		case w.changes <- event.TypedGenericEvent[*v1alpha1.ControlPlane]{Object: &planes.Items[i]}:
		case <-ctx.Done():
			return
		}
	}
}
