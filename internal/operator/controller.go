package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Reconciler runs the rounds of ControlPlane objects.
type Reconciler struct {
	// Client reads ControlPlanes from a cache, and writes. // required
	Client client.Client
	// Reader reads Secrets and documents from the API server: nothing of a tenant is kept. // required
	Reader client.Reader
	// Tenants opens connections. // required
	Tenants Tenants
	// Events receives what was done. // required
	Events events.EventRecorder
	// Timeout limits a round of one environment. Default: five minutes.
	Timeout time.Duration
	// MaxAssignments is how many Assignment objects an environment can have. Default: 200.
	MaxAssignments int
	// Share limits the rounds of a namespace. Optional.
	Share *Share

	// Wake requests a round of a control plane. It must not block. Optional.
	Wake func(types.NamespacedName)

	// turns has the environment with which the next reconciliation of a control plane begins, if the last one had no time for all.
	turns sync.Map // types.NamespacedName: string
}

// Times between two attempts.
const (
	// defaultInterval is used for objects that were created without the definition's default.
	defaultInterval = time.Minute
	// soon is the time until another attempt after something moved during a round, or while the namespace has enough workers.
	soon = time.Second
	// rounds is how many times the limit of a round all rounds of a control plane may take together. It holds a worker for no longer.
	rounds = 2
)

// maxEnvironments is how many environments the status of a control plane can list.
const maxEnvironments = 64

// Reconcile runs a round for each environment of a ControlPlane, and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	plane := &v1alpha1.ControlPlane{}
	if err := r.Client.Get(ctx, request.NamespacedName, plane); err != nil {
		if apierrors.IsNotFound(err) {
			r.Tenants.Forget(request.NamespacedName)
			r.turns.Delete(request.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, err
	}
	if !plane.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	end, ok := r.Share.begin(request.Namespace)
	if !ok {
		return ctrl.Result{RequeueAfter: jitter(soon)}, nil
	}
	defer end()
	before := plane.DeepCopy()
	if plane.Spec.Suspend {
		plane.Status.Summary = "suspended" // the conditions and their generation are those of the last round
		return ctrl.Result{}, r.patch(ctx, plane, before)
	}
	run := &run{Reconciler: r, plane: plane, before: before}
	if err := run.begin(ctx); err != nil {
		return ctrl.Result{}, err
	}
	err := run.rounds(ctx)
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err() // the operator stops, and the next one runs the round
	}
	run.summarize(err)
	if err := r.patch(ctx, plane, run.before); err != nil {
		return ctrl.Result{}, err
	}
	return run.result(err)
}

// patch writes the status if it has changed.
func (r *Reconciler) patch(ctx context.Context, plane, before *v1alpha1.ControlPlane) error {
	if equality.Semantic.DeepEqual(plane.Status, before.Status) {
		return nil
	}
	status := plane.Status
	err := r.Client.Status().Patch(ctx, plane, client.MergeFrom(before))
	plane.Status = status
	if apierrors.IsNotFound(err) {
		return nil // it was deleted during the round
	}
	if err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// run is one reconciliation.
type run struct {
	*Reconciler
	// plane has the status to write, and before is the object as it is stored.
	plane, before *v1alpha1.ControlPlane
	tenant        Tenant
	documents     *Documents
	// ledger is why the ledger cannot be used, nil if it can.
	ledger error
	// next is when another round is needed; zero for after the interval.
	next time.Time
	// moved means that a branch moved during a round, which is not a failure.
	moved bool
}

// begin shows a new generation or a request as in progress.
func (r *run) begin(ctx context.Context) error {
	requested := r.plane.Annotations[v1alpha1.AnnotationRequestedAt]
	if r.plane.Status.ObservedGeneration == r.plane.Generation && requested == r.plane.Status.LastHandledReconcileAt {
		return nil
	}
	r.started()
	if err := r.patch(ctx, r.plane, r.before); err != nil {
		return err
	}
	r.before = r.plane.DeepCopy()
	return nil
}

// rounds opens the tenant, and runs a round for each environment.
func (r *run) rounds(ctx context.Context) error {
	access, err := r.access(ctx)
	if err != nil {
		return err
	}
	if r.tenant, err = r.Tenants.Open(*access); err != nil {
		if errors.Is(err, ErrNotAllowed) {
			return &stalled{ReasonNotAllowed, err}
		}
		return err
	}
	names, err := r.environments(ctx)
	if err != nil {
		return err
	}
	r.plane.Status.Environments = slices.DeleteFunc(r.plane.Status.Environments, func(e v1alpha1.EnvironmentStatus) bool {
		return !slices.Contains(names, e.Name)
	})
	var failures []error
	var written []assignmentsOf
	key, end := client.ObjectKeyFromObject(r.plane), time.Now().Add(rounds*r.limit())
	first, _ := r.turns.LoadAndDelete(key)
	late := false
	for i, name := range beginWith(names, first) {
		if i > 0 && !late && time.Now().After(end) {
			late = true
			r.turns.Store(key, name)
			failures = append(failures, fmt.Errorf("the rounds took longer than %s: the next ones begin with environment %q", rounds*r.limit(), name))
		}
		if late {
			written = append(written, assignmentsOf{environment: name}) // its objects stay as they are
			continue
		}
		outcome, err := r.round(ctx, name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("environment %q: %w", name, err))
		}
		written = append(written, assignmentsOf{name, outcome, err})
	}
	if err := r.writeAssignments(ctx, written); err != nil {
		failures = append(failures, err)
	}
	if err := r.writeDocumentStatuses(ctx, written); err != nil {
		failures = append(failures, err)
	}
	err = r.promote(ctx)
	if err == nil {
		err = r.deliver(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		failures = append(failures, err)
	}
	if err := r.planPullRequests(ctx); err != nil {
		return err
	}
	return errors.Join(failures...)
}

// beginWith returns sorted names in the order of turns: from the first one on, and then those before it.
func beginWith(names []string, first any) []string {
	name, _ := first.(string)
	i, _ := slices.BinarySearch(names, name)
	return slices.Concat(names[i:], names[:i])
}

// environments returns the environments to schedule, sorted.
func (r *run) environments(ctx context.Context) ([]string, error) {
	spec := &r.plane.Spec
	if spec.Source.Objects != nil {
		var err error
		if r.documents, err = readDocuments(ctx, r.Reader, r.plane.Namespace, spec.Source.Objects); err != nil {
			return nil, explain(err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.limit())
	defer cancel()
	var before []string
	for _, e := range r.plane.Status.Environments {
		before = append(before, e.Name)
	}
	known, err := r.tenant.Environments(ctx, r.documents, before)
	if err != nil {
		return nil, err
	}
	if len(spec.Environments) == 0 {
		if len(known) > maxEnvironments {
			return nil, &stalled{ReasonTooMany, fmt.Errorf("the control plane has %d environments, and a ControlPlane can have %d: name them in spec.environments, and the others in another ControlPlane",
				len(known), maxEnvironments)}
		}
		return known, nil
	}
	for _, name := range spec.Environments {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("spec.environments: the control plane has no environment %q; it has %q", name, known)
		}
	}
	return slices.Sorted(slices.Values(spec.Environments)), nil
}

// limit is how long a round of one environment may take.
func (r *Reconciler) limit() time.Duration { return cmp.Or(r.Timeout, 5*time.Minute) }

// access reads the Secrets of the control plane's own namespace.
func (r *run) access(ctx context.Context) (*Access, error) {
	spec := r.plane.Spec
	a := &Access{Name: client.ObjectKeyFromObject(r.plane), UID: r.plane.UID, Spec: spec}
	forgeSecret, err := r.secret(ctx, "spec.forge.secretRef", spec.Forge.SecretRef.Name)
	if err != nil {
		return nil, err
	}
	if a.Token = secret.New(string(forgeSecret.Data["token"])); a.Token.IsZero() {
		return nil, &waiting{ReasonSecret, fmt.Errorf("spec.forge.secretRef: Secret %q has no field token", spec.Forge.SecretRef.Name)}
	}
	if ref := spec.Source.SecretRef; ref != nil {
		sourceSecret, err := r.secret(ctx, "spec.source.secretRef", ref.Name)
		if err != nil {
			return nil, err
		}
		a.User, a.Password = string(sourceSecret.Data["username"]), secret.New(string(sourceSecret.Data["password"]))
		if a.Password.IsZero() {
			return nil, &waiting{ReasonSecret, fmt.Errorf("spec.source.secretRef: Secret %q has no field password", ref.Name)}
		}
	}
	if a.Ledger, r.ledger = r.readLedger(ctx); r.Wake != nil {
		a.Wake = func() { r.Wake(a.Name) }
	}
	return a, nil
}

// secret reads a Secret of the control plane's namespace.
func (r *run) secret(ctx context.Context, field, name string) (*corev1.Secret, error) {
	var s corev1.Secret
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: r.plane.Namespace, Name: name}, &s)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &waiting{ReasonSecret, fmt.Errorf("%s: no Secret %q in namespace %q", field, name, r.plane.Namespace)}
	case err != nil:
		return nil, explain(fmt.Errorf("%s: %w", field, err))
	case s.Type == corev1.SecretTypeServiceAccountToken:
		// A user who may create ControlPlanes need not be one who may read the tokens of service accounts.
		return nil, &waiting{ReasonSecret, fmt.Errorf("%s: Secret %q is the token of a service account, which is sent to no forge", field, name)}
	}
	return &s, nil
}

// round runs a round of an environment, and sets its status.
func (r *run) round(ctx context.Context, name string) (*outcome, error) {
	bounded, cancel := context.WithTimeout(ctx, r.limit())
	defer cancel()
	o, err := r.tenant.Round(bounded, r.documents, name)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if bounded.Err() != nil {
		err = fmt.Errorf("the round took longer than %s", r.limit())
	}
	if errors.Is(err, pullrequest.ErrMoved) {
		r.moved = true
		return o, nil
	}
	if o != nil {
		r.soonest(o.Next)
	}
	if o != nil && isMerged(o.PullRequest) {
		r.soonest(time.Now()) // the next round reads what was merged
	}
	r.setEnvironment(name, o, err)
	if o != nil {
		for _, did := range o.Did {
			r.Events.Eventf(r.plane, nil, corev1.EventTypeNormal, EventChanged, "Round", "%s: %s", name, message(did))
		}
	}
	return o, err
}

// soonest requests another round at a time, unless it is zero.
func (r *run) soonest(at time.Time) {
	if !at.IsZero() && (r.next.IsZero() || at.Before(r.next)) {
		r.next = at
	}
}

// isMerged reports whether a round merged its pull request.
func isMerged(p *forge.PullRequest) bool { return p != nil && p.State == forge.Merged }

// movedBefore reports whether a branch moved during the last rounds, too. Then another attempt at once would fail again.
func (r *run) movedBefore() bool {
	c := meta.FindStatusCondition(r.before.Status.Conditions, v1alpha1.ConditionReconciling)
	return c != nil && c.Message == movedMessage
}

// result returns when the next reconciliation is.
func (r *run) result(err error) (ctrl.Result, error) {
	interval := defaultInterval
	if r.plane.Spec.Interval != nil {
		interval = r.plane.Spec.Interval.Duration
	}
	var stall *stalled
	var limited *forge.Error
	switch {
	case errors.As(err, &stall):
		return ctrl.Result{}, nil
	case errors.As(err, &limited) && limited.RetryAfter > 0:
		return ctrl.Result{RequeueAfter: limited.RetryAfter}, nil
	case r.moved && !r.movedBefore():
		return ctrl.Result{RequeueAfter: soon}, nil
	case !r.next.IsZero():
		interval = min(interval, max(time.Until(r.next), soon))
	}
	return ctrl.Result{RequeueAfter: jitter(interval)}, nil
}

// jitter returns a duration that is up to a tenth longer, so that control planes are not read at the same time.
func jitter(d time.Duration) time.Duration { return d + rand.N(d/10+1) }
