package operator

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// documentWorld has a control plane whose documents are objects, and counts the statuses that are written.
func documentWorld(t *testing.T, planes ...client.Object) (w *world, patches *int) {
	t.Helper()
	registration := func(name string) *v1alpha1.WorkloadRegistration {
		return &v1alpha1.WorkloadRegistration{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", Generation: 2, UID: types.UID("uid-" + name)}}
	}
	w = newWorld(t)
	patches = new(int)
	builder := fake.NewClientBuilder().WithScheme(w.Client.Scheme()).WithObjects(botSecret(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, registration("good"), registration("bad")).
		WithObjects(planes...).WithObjects(definitions()...).WithStatusSubresource(&v1alpha1.ControlPlane{}, &v1alpha1.WorkloadRegistration{})
	w.Client = builder.WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if o.GetObjectKind().GroupVersionKind().Kind == "WorkloadRegistration" {
				*patches++
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()
	w.Reader = w.Client
	w.found(fleet.SeverityError)
	return w, patches
}

// found makes the rounds find a problem of the registration "bad".
func (w *world) found(s fleet.Severity) {
	w.planes.outcomes["dev"] = &schedule.Outcome{Plan: &plan.Plan{Problems: []fleet.Problem{{
		Severity: s, Position: fleet.Position{Source: "main", File: "WorkloadRegistration shop/bad"}, Message: "no workload there", Hint: "check the path",
	}}}}
}

// ready returns the condition of a registration, without its time.
func (w *world) ready(t *testing.T, name string) *metav1.Condition {
	t.Helper()
	var o v1alpha1.WorkloadRegistration
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Status.Conditions) == 0 {
		return nil
	}
	c := o.Status.Conditions[0]
	c.LastTransitionTime = metav1.Time{}
	if o.Status.ObservedGeneration != c.ObservedGeneration {
		t.Errorf("%s: the status is of generation %d, the condition of %d", name, o.Status.ObservedGeneration, c.ObservedGeneration)
	}
	return &c
}

func objectsPlane(name string) *v1alpha1.ControlPlane {
	return shopPlane(func(p *v1alpha1.ControlPlane) {
		p.Name = name
		p.Spec.Source = v1alpha1.ControlPlaneSource{Objects: &v1alpha1.ObjectsSource{Environment: "dev"}}
	})
}

// Problems of documents are conditions and events of their objects, so that "kubectl wait --for=condition=Ready" ends.
func TestProblemsAreConditionsOfDocuments(t *testing.T) {
	w, patches := documentWorld(t, objectsPlane("shop"))
	w.reconcile(t)
	wantReady(t, w, "good", &metav1.Condition{Type: "Ready", Status: "True", Reason: "Accepted", Message: "no problems", ObservedGeneration: 2})
	wantReady(t, w, "bad", &metav1.Condition{
		Type: "Ready", Status: "False", Reason: "Invalid", Message: "error: no workload there; check the path", ObservedGeneration: 2,
	})
	w.wantEvent(t, "Warning Invalid error: no workload there; check the path")
	w.reconcile(t)
	if *patches != 2 {
		t.Errorf("%d statuses were written, want 2: another round found the same", *patches)
	}
	w.found(fleet.SeverityWarning)
	w.reconcile(t)
	wantReady(t, w, "bad", &metav1.Condition{
		Type: "Ready", Status: "True", Reason: "Accepted", Message: "warning: no workload there; check the path", ObservedGeneration: 2,
	})
	w.wantEvent(t, "Normal Accepted warning: no workload there; check the path")
}

// If several control planes read an object, the first one by name judges it. Otherwise they would replace each other's conditions for ever.
func TestOneControlPlaneSetsTheCondition(t *testing.T) {
	w, patches := documentWorld(t, objectsPlane("shop"), objectsPlane("apps"))
	w.reconcile(t)
	if *patches != 0 {
		t.Errorf("%d statuses were written, want those of apps to stay", *patches)
	}
}

// What is not known after a failed round is not written.
func TestFailedRoundsLeaveConditions(t *testing.T) {
	w, patches := documentWorld(t, objectsPlane("shop"))
	w.planes.errs["dev"] = context.DeadlineExceeded
	w.reconcile(t)
	if *patches != 0 || w.ready(t, "bad") != nil {
		t.Errorf("%d statuses were written", *patches)
	}
}

func wantReady(t *testing.T, w *world, name string, want *metav1.Condition) {
	t.Helper()
	if diff := cmp.Diff(want, w.ready(t, name)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// wantEvent looks for an event among those that were recorded.
func (w *world) wantEvent(t *testing.T, want string) {
	t.Helper()
	var got []string
	for len(w.events.Events) > 0 {
		event := <-w.events.Events
		if event == want {
			return
		}
		got = append(got, event)
	}
	t.Errorf("got the events %q, want %q", got, want)
}
