package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// planes are control planes whose rounds have the results that a test sets.
type planes struct {
	environments []string
	outcomes     map[string]*schedule.Outcome
	errs         map[string]error
	refused      error
	opened       []Access
	forgotten    []types.NamespacedName
	documents    *Documents
	before       []string
	rounds       []string
	pulls        PullRequests
	planned      int
	promoted     *promote.Outcome
	promotions   int
	deliveries   Deliveries
}

func (p *planes) Open(a Access) (Tenant, error) {
	p.opened = append(p.opened, a)
	return p, p.refused
}
func (p *planes) Forget(name types.NamespacedName) { p.forgotten = append(p.forgotten, name) }
func (p *planes) Environments(_ context.Context, _ *Documents, before []string) ([]string, error) {
	p.before = before
	return p.environments, p.errs[""]
}

func (p *planes) Round(_ context.Context, documents *Documents, environment string) (*schedule.Outcome, error) {
	p.documents = documents
	p.rounds = append(p.rounds, environment)
	return p.outcomes[environment], p.errs[environment]
}

func (p *planes) Promote(context.Context) (*promote.Outcome, error) {
	p.promotions++
	return p.promoted, p.errs["promotion"]
}

func (p *planes) Deliver(context.Context) (Deliveries, error) {
	return p.deliveries, p.errs["deliveries"]
}

func (p *planes) PlanPullRequests(context.Context) (PullRequests, error) {
	p.planned++
	return p.pulls, p.errs["pull requests"]
}

// world is an API server with objects, and a reconciler.
type world struct {
	*Reconciler
	planes *planes
	events *events.FakeRecorder
	// denied are the resources that the operator has no right to read.
	denied map[string]bool
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{planes: &planes{environments: []string{"dev"}, outcomes: map[string]*schedule.Outcome{"dev": {}}, errs: map[string]error{}}, denied: map[string]bool{}}
	forbidden := func(resource, name string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, name, errors.New(`User "operator" cannot`))
	}
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	objects = append(objects, definitions()...)
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.ControlPlane{}).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, secret := o.(*corev1.Secret); secret && w.denied["secrets"] {
				return forbidden("secrets", key.Name)
			}
			if kind := o.GetObjectKind().GroupVersionKind().Kind; w.denied[kind] {
				return forbidden(kind, key.Name)
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if kind := list.GetObjectKind().GroupVersionKind().Kind; w.denied[kind] {
				return forbidden(kind, "")
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	w.events = events.NewFakeRecorder(20)
	w.Reconciler = &Reconciler{Client: c, Reader: c, Tenants: w.planes, Events: w.events}
	return w
}

// definitionOf returns the definition of a kind, which the API server keeps until all objects of the kind are deleted.
func definitionOf(resource string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("apiextensions.k8s.io/v1")
	o.SetKind("CustomResourceDefinition")
	o.SetName(resource + "." + v1alpha1.GroupVersion.Group)
	o.SetFinalizers([]string{"customresourcecleanup.apiextensions.k8s.io"})
	return o
}

func definitions() (all []client.Object) {
	for _, kind := range documentKinds() {
		if !kind.isConfigMap() {
			all = append(all, definitionOf(kind.resource))
		}
	}
	return all
}

func shopPlane(change ...func(*v1alpha1.ControlPlane)) *v1alpha1.ControlPlane {
	p := &v1alpha1.ControlPlane{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "shop", Generation: 3, UID: "uid"},
		Spec: v1alpha1.ControlPlaneSpec{
			Source: v1alpha1.ControlPlaneSource{Repository: "https://git.example.com/shop/control-plane"},
			Forge:  v1alpha1.ControlPlaneForge{Kind: "gitea", URL: "https://git.example.com", SecretRef: v1alpha1.SecretReference{Name: "bot"}},
		},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func botSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bot", Namespace: "shop"}, Data: map[string][]byte{"token": []byte("the-token")}}
}

// reconcile reconciles the control plane, and returns it.
func (w *world) reconcile(t *testing.T) (*v1alpha1.ControlPlane, ctrl.Result) {
	t.Helper()
	key := types.NamespacedName{Namespace: "shop", Name: "shop"}
	result, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil {
		t.Fatal(err)
	}
	var p v1alpha1.ControlPlane
	if err := w.Client.Get(t.Context(), key, &p); err != nil {
		t.Fatal(err)
	}
	return &p, result
}

func wantConditions(t *testing.T, p *v1alpha1.ControlPlane, want ...metav1.Condition) {
	t.Helper()
	for i := range want {
		want[i].ObservedGeneration = 3
	}
	if diff := cmp.Diff(want, p.Status.Conditions, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime"), cmpopts.SortSlices(func(a, b metav1.Condition) bool { return a.Type < b.Type })); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func retrying() metav1.Condition {
	return metav1.Condition{Type: "Reconciling", Status: metav1.ConditionTrue, Reason: "Progressing", Message: "the round is run again"}
}

// A successful round sets counts, commits, the pull request and the first five problems.
func TestReconcile(t *testing.T) {
	w := newWorld(t, botSecret(), shopPlane(func(p *v1alpha1.ControlPlane) {
		p.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: "now"}
	}))
	var problems []fleet.Problem
	for i := range 7 {
		problems = append(problems, fleet.Problem{
			Severity: fleet.SeverityError, Message: fmt.Sprint("wrong ", i), Hint: "correct it", Position: fleet.Position{Source: "dev", File: "a.yaml", Line: i + 1},
		})
	}
	w.planes.outcomes["dev"] = &schedule.Outcome{
		Inputs: schedule.Inputs{Branch: schedule.Input{Name: "dev", Commit: "0123456789"}, Main: schedule.Input{Name: "main", Commit: "abcdefghij"}},
		Head:   "base", Files: 12, Did: []string{"opened pull request 7"}, PullRequest: &forge.PullRequest{Number: 7, URL: "https://git.example.com/7"},
		Plan: &plan.Plan{Counts: plan.Counts{Added: 2, Held: 1, Removed: 5}, Problems: problems},
	}
	p, result := w.reconcile(t)
	const summary = "1 environment, 3 assignments, 1 held, 7 errors, 1 open pull request"
	wantConditions(t, p, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Succeeded", Message: summary})
	want := v1alpha1.ControlPlaneStatus{
		LastHandledReconcileAt: "now", Summary: summary,
		Environments: []v1alpha1.EnvironmentStatus{{
			Name: "dev", Inputs: "dev@0123456, main@abcdefg", Commit: "base", PullRequest: "https://git.example.com/7",
			Counts: &v1alpha1.EnvironmentCounts{Assignments: 3, Held: 1, Errors: 7, Files: 12},
			Problems: []string{
				"dev a.yaml:1: error: wrong 0; correct it", "dev a.yaml:2: error: wrong 1; correct it", "dev a.yaml:3: error: wrong 2; correct it",
				"dev a.yaml:4: error: wrong 3; correct it", "dev a.yaml:5: error: wrong 4; correct it",
			},
		}},
	}
	want.ObservedGeneration = 3
	if diff := cmp.Diff(want, p.Status, cmpopts.IgnoreFields(v1alpha1.Status{}, "Conditions")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if result.RequeueAfter < time.Minute || result.RequeueAfter > 66*time.Second {
		t.Errorf("the next round is after %s, want a minute", result.RequeueAfter)
	}
	if a := w.planes.opened[0]; a.Token.Reveal() != "the-token" || a.Name.Namespace != "shop" {
		t.Errorf("opened with %+v", a)
	}
	for _, want := range []string{"Normal Changed dev: opened pull request 7", "Normal Succeeded " + summary} {
		if got := <-w.events.Events; got != want {
			t.Errorf("got the event %q, want %q", got, want)
		}
	}
	// The same result again is no event, and no write.
	before := p.ResourceVersion
	w.planes.outcomes["dev"].Did = nil
	if p, _ = w.reconcile(t); p.ResourceVersion != before {
		t.Error("the status was written, and is the same")
	}
	if len(w.events.Events) > 0 {
		t.Errorf("got the event %q", <-w.events.Events)
	}
}

// What keeps a round from its end is a condition with a reason. A failed round keeps what the last successful one found.
func TestReconcileFailures(t *testing.T) {
	tooMany := "the control plane has 65 environments, and a ControlPlane can have 64: name them in spec.environments, and the others in another ControlPlane"
	role := `; add the rule to the operator's role`
	for name, tc := range map[string]struct {
		objects []client.Object
		arrange func(*world)
		want    []metav1.Condition
		// next is when the next round is; zero for never.
		next time.Duration
	}{
		"no Secret": {
			want: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "SecretUnusable", Message: `spec.forge.secretRef: no Secret "bot" in namespace "shop"`}, retrying()},
			next: time.Minute,
		},
		"a Secret without a token": {
			objects: []client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bot", Namespace: "shop"}}},
			want:    []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "SecretUnusable", Message: `spec.forge.secretRef: Secret "bot" has no field token`}, retrying()},
			next:    time.Minute,
		},
		"a Secret of another namespace": {
			objects: []client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bot", Namespace: "bank"}, Data: map[string][]byte{"token": []byte("theirs")}}},
			want:    []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "SecretUnusable", Message: `spec.forge.secretRef: no Secret "bot" in namespace "shop"`}, retrying()},
			next:    time.Minute,
		},
		"the token of a service account": {
			objects: []client.Object{&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: "bot", Namespace: "shop"}, Type: corev1.SecretTypeServiceAccountToken, Data: map[string][]byte{"token": []byte("of-a-pod")},
			}},
			want: []metav1.Condition{{
				Type: "Ready", Status: metav1.ConditionFalse, Reason: "SecretUnusable",
				Message: `spec.forge.secretRef: Secret "bot" is the token of a service account, which is sent to no forge`,
			}, retrying()},
			next: time.Minute,
		},
		"too many environments": {
			objects: []client.Object{botSecret()},
			arrange: func(w *world) { w.planes.environments = make([]string, 65) },
			want: []metav1.Condition{
				{Type: "Ready", Status: metav1.ConditionFalse, Reason: "TooManyEnvironments", Message: tooMany},
				{Type: "Stalled", Status: metav1.ConditionTrue, Reason: "TooManyEnvironments", Message: tooMany},
			},
		},
		"no right to read Secrets": {
			objects: []client.Object{botSecret()},
			arrange: func(w *world) { w.denied["secrets"] = true },
			want: []metav1.Condition{{
				Type: "Ready", Status: metav1.ConditionFalse, Reason: "Forbidden", Message: `spec.forge.secretRef: secrets "bot" is forbidden: User "operator" cannot` + role,
			}, retrying()},
			next: time.Minute,
		},
		"a server that is not allowed": {
			objects: []client.Object{botSecret()},
			arrange: func(w *world) {
				w.planes.refused = fmt.Errorf("spec.forge.url: %w: https://git.example.com", ErrNotAllowed)
			},
			want: []metav1.Condition{
				{Type: "Ready", Status: metav1.ConditionFalse, Reason: "NotAllowed", Message: "spec.forge.url: the operator does not allow this address: https://git.example.com"},
				{Type: "Stalled", Status: metav1.ConditionTrue, Reason: "NotAllowed", Message: "spec.forge.url: the operator does not allow this address: https://git.example.com"},
			},
		},
		"a control plane that cannot be read, with a credential in the error": {
			objects: []client.Object{botSecret()},
			arrange: func(w *world) {
				w.planes.errs[""] = errors.New(`fetch "https://user:pass-word@git.example.com/a": refused`)
			},
			want: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "RoundFailed", Message: `fetch "https://git.example.com/a": refused`}, retrying()},
			next: time.Minute,
		},
		"one environment of two": {
			objects: []client.Object{botSecret()},
			arrange: func(w *world) {
				w.planes.environments, w.planes.outcomes["stage"] = []string{"dev", "stage"}, &schedule.Outcome{}
				w.planes.errs["dev"] = errors.New("no such branch")
			},
			want: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "RoundFailed", Message: `environment "dev": no such branch`}, retrying()},
			next: time.Minute,
		},
		"a forge that asks for patience": {
			objects: []client.Object{botSecret()},
			arrange: func(w *world) {
				w.planes.errs["dev"] = &forge.Error{Kind: forge.ErrUnavailable, Op: "find", RetryAfter: 7 * time.Minute}
			},
			want: []metav1.Condition{{
				Type: "Ready", Status: metav1.ConditionFalse, Reason: "RoundFailed",
				Message: `environment "dev": ` + (&forge.Error{Kind: forge.ErrUnavailable, Op: "find", RetryAfter: 7 * time.Minute}).Error(),
			}, retrying()},
			next: 7 * time.Minute,
		},
		"a branch that moved": {
			objects: []client.Object{botSecret()},
			arrange: func(w *world) { w.planes.errs["dev"] = pullrequest.ErrMoved },
			want: []metav1.Condition{
				{Type: "Ready", Status: metav1.ConditionUnknown, Reason: "Progressing", Message: "the first round is running"},
				{Type: "Reconciling", Status: metav1.ConditionTrue, Reason: "Progressing", Message: "a branch moved during the round, which is run again"},
			},
			next: time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(tc.objects, shopPlane())...)
			if tc.arrange != nil {
				tc.arrange(w)
			}
			p, result := w.reconcile(t)
			wantConditions(t, p, tc.want...)
			if result.RequeueAfter < tc.next || result.RequeueAfter > tc.next+tc.next/9 {
				t.Errorf("the next round is after %s, want %s", result.RequeueAfter, tc.next)
			}
			if strings.Contains(fmt.Sprint(p.Status), "pass-word") {
				t.Error("the status has a credential")
			}
		})
	}
}

// A branch that moves in every round is tried at once only the first time.
func TestReconcileMovesAgain(t *testing.T) {
	w := newWorld(t, botSecret(), shopPlane())
	w.planes.errs["dev"] = pullrequest.ErrMoved
	for _, want := range []time.Duration{time.Second, time.Minute, time.Minute} {
		if _, result := w.reconcile(t); result.RequeueAfter.Truncate(want) != want {
			t.Errorf("the next round is after %s, want %s", result.RequeueAfter, want)
		}
	}
}

// A control plane with slow environments gives its worker back, and all environments get their turn.
func TestReconcileTurns(t *testing.T) {
	w := newWorld(t, botSecret(), shopPlane(func(p *v1alpha1.ControlPlane) { p.Spec.Assignments = &v1alpha1.AssignmentObjects{Objects: true} }))
	w.Timeout = time.Nanosecond
	w.planes.environments = []string{"dev", "prod", "stage"}
	for _, want := range []string{"dev", "prod", "stage", "dev"} {
		w.planes.rounds = nil
		p, _ := w.reconcile(t)
		if diff := cmp.Diff([]string{want}, w.planes.rounds); diff != "" {
			t.Errorf("rounds (-want +got):\n%s", diff)
		}
		if message := p.Status.Conditions[0].Message; !strings.Contains(message, "the next ones begin with environment") {
			t.Errorf("the condition is %q", message)
		}
	}
}

// A failed round keeps the result of the last successful one.
func TestReconcileKeepsResults(t *testing.T) {
	w := newWorld(t, botSecret(), shopPlane())
	w.planes.outcomes["dev"] = &schedule.Outcome{Head: "base", Plan: &plan.Plan{Counts: plan.Counts{Added: 2}}}
	w.reconcile(t)
	w.planes.errs["dev"] = errors.New("the forge is away")
	p, _ := w.reconcile(t)
	if e := p.Status.Environments[0]; e.Error != "the forge is away" || e.Commit != "base" || e.Counts.Assignments != 2 {
		t.Errorf("the status is %+v", e)
	}
}

// A suspended control plane has no rounds, and one that is gone is forgotten.
func TestReconcileSuspendedAndGone(t *testing.T) {
	w := newWorld(t, botSecret(), shopPlane(func(p *v1alpha1.ControlPlane) { p.Spec.Suspend = true }))
	p, result := w.reconcile(t)
	if p.Status.Summary != "suspended" || p.Status.ObservedGeneration != 0 || result.RequeueAfter != 0 || len(w.planes.opened) > 0 {
		t.Errorf("got %+v, the next round after %s", p.Status, result.RequeueAfter)
	}
	if err := w.Client.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	gone := types.NamespacedName{Namespace: "shop", Name: "shop"}
	if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: gone}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]types.NamespacedName{gone}, w.planes.forgotten); diff != "" {
		t.Error(diff)
	}
}

// If one kind cannot be listed, or the namespace is being deleted, no round runs.
func TestObjectsAreAllThere(t *testing.T) {
	objects := shopPlane(func(p *v1alpha1.ControlPlane) {
		p.Spec.Source = v1alpha1.ControlPlaneSource{Objects: &v1alpha1.ObjectsSource{Environment: "dev"}}
	})
	for name, tc := range map[string]struct {
		arrange      func(*world)
		reason, want string
	}{
		"forbidden": {
			func(w *world) { w.denied["SchedulingPolicyList"] = true }, "Forbidden",
			`list schedulingpolicies in namespace "shop", so nothing is scheduled: SchedulingPolicyList is forbidden: User "operator" cannot; add the rule to the operator's role`,
		},
		"no namespace": {
			func(w *world) {
				_ = w.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
			}, "RoundFailed", `namespace "shop" is being deleted, so nothing is scheduled`,
		},
		"a namespace that is being deleted": {
			func(w *world) {
				var n corev1.Namespace
				_ = w.Client.Get(t.Context(), types.NamespacedName{Name: "shop"}, &n)
				n.Status.Phase = corev1.NamespaceTerminating
				_ = w.Client.Status().Update(t.Context(), &n)
			}, "RoundFailed", `namespace "shop" is being deleted, so nothing is scheduled`,
		},
		"a definition that is being deleted": {
			func(w *world) { _ = w.Client.Delete(t.Context(), definitionOf("schedulingpolicies")) },
			"RoundFailed", `the definition schedulingpolicies.scheduler.kalypso.io is being deleted, so nothing is scheduled`,
		},
		"no right to read definitions": {
			func(w *world) { w.denied["CustomResourceDefinition"] = true }, "Forbidden",
			`read the definition baserepoes.scheduler.kalypso.io, so nothing is scheduled: CustomResourceDefinition "baserepoes.scheduler.kalypso.io" is forbidden: ` +
				`User "operator" cannot; add the rule to the operator's role`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, botSecret(), objects.DeepCopy())
			tc.arrange(w)
			p, _ := w.reconcile(t)
			wantConditions(t, p, metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: tc.reason, Message: tc.want}, retrying())
			if w.planes.documents != nil || len(p.Status.Environments) > 0 {
				t.Error("a round ran")
			}
		})
	}
}

// Assignments are objects up to a number, and only those of this control plane are changed.
func TestAssignmentObjects(t *testing.T) {
	other := &v1alpha1.Assignment{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "shop"}}
	w := newWorld(t, botSecret(), other, shopPlane(func(p *v1alpha1.ControlPlane) { p.Spec.Assignments = &v1alpha1.AssignmentObjects{Objects: true} }))
	w.MaxAssignments = 2
	set := func(targets ...string) {
		folder := &bundle.Folder{Name: "large", ClusterType: "large"}
		for _, target := range targets {
			folder.Assignments = append(folder.Assignments, bundle.Assignment{ClusterType: "large", Target: target, Policies: []string{"all"}})
		}
		w.planes.outcomes["dev"] = &schedule.Outcome{
			GitOps: schedule.Location{Repo: "https://git.example.com/gitops", Branch: "dev"}, Bundle: &bundle.Bundle{Folders: []*bundle.Folder{folder}},
		}
	}
	want := func(status string, names ...string) {
		t.Helper()
		p, _ := w.reconcile(t)
		var list v1alpha1.AssignmentList
		if err := w.Client.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range list.Items {
			got = append(got, a.Name)
		}
		if diff := cmp.Diff(append([]string{"other"}, names...), got); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
		if p.Status.Assignments != status {
			t.Errorf("got %q, want %q", p.Status.Assignments, status)
		}
	}
	set("a", "b")
	want("2 objects written", "shop.dev.large.a", "shop.dev.large.b")
	set("b")
	want("1 object written", "shop.dev.large.b")
	w.planes.errs["dev"] = errors.New("the forge is away")
	want("1 object written", "shop.dev.large.b")
	delete(w.planes.errs, "dev")
	set("a", "b", "c")
	want(`dev has 3 assignments, and objects are written for up to 2; see branch "dev" of https://git.example.com/gitops. 0 objects written`)
}

// A namespace has its share of the workers, whatever it asks for, and one worker is for namespaces that give theirs back soon.
func TestShare(t *testing.T) {
	s := &Share{Workers: 4}
	begin := func(namespace string, want bool) (end func()) {
		t.Helper()
		end, ok := s.begin(namespace)
		if ok != want {
			t.Errorf("a worker for %s: %v, want %v", namespace, ok, want)
		}
		return end
	}
	end := begin("quick", true)
	end()
	begin("shop", true)
	begin("shop", true)
	begin("shop", false)
	begin("bank", true)
	begin("bank", false) // the last worker
	begin("quick", true)
	s.end("bank", time.Hour)
	s.end("quick", time.Hour)
	begin("bank", true)
	begin("quick", false)
}

// A pull request that the round has merged is not an open one, and the next round reads what was merged.
func TestMerged(t *testing.T) {
	w := newWorld(t, botSecret(), shopPlane())
	w.planes.outcomes["dev"] = &schedule.Outcome{PullRequest: &forge.PullRequest{Number: 7, URL: "https://git.example.com/7", State: forge.Merged}}
	p, result := w.reconcile(t)
	if got := p.Status.Environments[0].PullRequest; got != "" || strings.Contains(p.Status.Summary, "open") {
		t.Errorf("the open pull request is %q, and the summary %q", got, p.Status.Summary)
	}
	if result.RequeueAfter > 2*time.Second {
		t.Errorf("the next round is after %s", result.RequeueAfter)
	}
	if w.reconcile(t); !slices.Equal(w.planes.before, []string{"dev"}) {
		t.Errorf("the environments before the round are %q", w.planes.before)
	}
}
