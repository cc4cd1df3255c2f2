package install

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// served are the kinds of a cluster, by version of their API group and by resource.
type served map[string]map[string]string

func (s served) Versions(context.Context, string) ([]string, error) { return nil, nil }

func (s served) Kinds(_ context.Context, group, version string) (map[string]string, error) {
	return s[group+"/"+version], nil
}

var flux = served{
	"source.toolkit.fluxcd.io/v1":    {"gitrepositories": "GitRepository"},
	"kustomize.toolkit.fluxcd.io/v1": {"kustomizations": "Kustomization"},
}

func named(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name, "uid": "uid-of-" + name},
	}}
}

// newCluster is a cluster with Flux, and some objects more.
func newCluster(more ...runtime.Object) *Cluster {
	all := append(more, named("v1", "Namespace", "", "kube-system"), named("v1", "Namespace", "", Namespace))
	return &Cluster{fake.NewSimpleDynamicClient(runtime.NewScheme(), all...), flux}
}

func plan() Plan {
	return Plan{
		Sample: "one", ClusterType: "drone", Repository: "https://git.example/acme/gitops", Branches: []string{"dev", "stage"},
		User: "reader", Token: secret.New("the token"),
	}
}

func objectsOf(t *testing.T, p Plan) []*unstructured.Unstructured {
	t.Helper()
	objects, err := p.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestObjects(t *testing.T) {
	t.Parallel()
	var names []string
	for _, o := range objectsOf(t, plan()) {
		names = append(names, Name(o))
		if o.GetLabels()[Label] != "one" {
			t.Errorf("%s has the labels %v", Name(o), o.GetLabels())
		}
	}
	want := []string{
		"Namespace kalypso-agent", "ServiceAccount kalypso-agent/kalypso-agent", "ClusterRole kalypso-agent", "ClusterRoleBinding kalypso-agent",
		"Secret flux-system/kalypso-sample",
		"GitRepository flux-system/kalypso-sample-dev", "Kustomization flux-system/kalypso-sample-dev",
		"GitRepository flux-system/kalypso-sample-stage", "Kustomization flux-system/kalypso-sample-stage",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	open := plan()
	open.Token = secret.Value{}
	for _, o := range objectsOf(t, open) {
		if _, found, _ := unstructured.NestedMap(o.Object, "spec", "secretRef"); found || o.GetKind() == "Secret" {
			t.Errorf("%s goes with a credential where anybody may read", Name(o))
		}
	}
}

// Without an ID, the label would match the objects of other samples.
func TestPlanRequiresASampleID(t *testing.T) {
	t.Parallel()
	p := plan()
	p.Sample = ""
	if objects, err := p.Objects(); err == nil {
		t.Errorf("got %d objects", len(objects))
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	if uid, err := newCluster().Identify(t.Context()); err != nil || uid != "uid-of-kube-system" {
		t.Errorf("got %q, %v", uid, err)
	}
	without := newCluster()
	without.discovery = served{"source.toolkit.fluxcd.io/v1": {"gitrepositories": "GitRepository"}}
	if _, err := without.Identify(t.Context()); !errors.Is(err, ErrNoFlux) || !strings.Contains(err.Error(), "kustomizations") {
		t.Errorf("got %v, want that there is no Flux", err)
	}
	without = &Cluster{fake.NewSimpleDynamicClient(runtime.NewScheme()), flux}
	if _, err := without.Identify(t.Context()); !errors.Is(err, ErrNoFlux) || !strings.Contains(err.Error(), Namespace) {
		t.Errorf("got %v, want that there is no namespace of Flux", err)
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Identify(t.Context()); !errors.Is(err, ErrNoFlux) {
		t.Errorf("got %v, want that it serves nothing", err)
	}
}

// TestApplyAndRemove does each twice, because a command can be killed in the middle, and keeps what controllers add.
func TestApplyAndRemove(t *testing.T) {
	t.Parallel()
	c, objects := newCluster(), objectsOf(t, plan())
	last := objects[len(objects)-1]
	for range 2 {
		if err := c.Apply(t.Context(), objects); err != nil {
			t.Fatal(err)
		}
		at, found, err := c.find(t.Context(), last)
		if err != nil || found == nil {
			t.Fatalf("%s: %v, %v", Name(last), found, err)
		}
		found.SetFinalizers([]string{"finalizers.fluxcd.io"})
		if _, err := at.Update(t.Context(), found, manage); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Apply(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	if _, found, _ := c.find(t.Context(), last); found == nil || len(found.GetFinalizers()) != 1 {
		t.Errorf("%s lost what a controller had added: %v", Name(last), found)
	}
	for range 2 {
		if err := c.Remove(t.Context(), objects); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Free(t.Context(), objects); err != nil {
		t.Error(err)
	}
	for _, o := range objects {
		if _, found, err := c.find(t.Context(), o); err != nil || found != nil {
			t.Errorf("%s: %v, %v", Name(o), found, err)
		}
	}
}

// TestForeignObjectsStay checks that nothing is applied if an object belongs to another owner, and that it is not removed.
func TestForeignObjectsStay(t *testing.T) {
	t.Parallel()
	foreign := named("v1", "Secret", Namespace, Secret)
	c, objects := newCluster(foreign), objectsOf(t, plan())
	if err := c.Apply(t.Context(), objects); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "Secret flux-system/kalypso-sample") {
		t.Errorf("got %v", err)
	}
	if _, found, _ := c.find(t.Context(), objects[0]); found != nil {
		t.Errorf("%s was applied", Name(objects[0]))
	}
	if err := c.Remove(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.find(t.Context(), objects[4]); !errors.Is(err, ErrForeign) {
		t.Errorf("the Secret of another owner: %v", err)
	}
}

func TestReadsReturnsTheMessageOfFlux(t *testing.T) {
	t.Parallel()
	c, objects := newCluster(), objectsOf(t, plan())
	if err := c.Reads(t.Context(), objects); !errors.Is(err, ErrUnread) {
		t.Errorf("got %v", err)
	}
	if err := c.Apply(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	say := func(status, message string) {
		for _, o := range objects {
			at, found, err := c.find(t.Context(), o)
			if err != nil || o.GetKind() != "GitRepository" {
				continue
			}
			found.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status, "message": message}}}
			if _, err := at.Update(t.Context(), found, manage); err != nil {
				t.Fatal(err)
			}
		}
	}
	say("False", "authentication required")
	if err := c.Reads(t.Context(), objects); !errors.Is(err, ErrUnread) || !strings.Contains(err.Error(), "authentication required") {
		t.Errorf("got %v", err)
	}
	say("True", "stored artifact")
	if err := c.Reads(t.Context(), objects); err != nil {
		t.Error(err)
	}
}

// TestRemoveWaitsForFlux: what came by a Kustomization is removed before it is gone.
func TestRemoveWaitsForFlux(t *testing.T) {
	t.Parallel()
	c := newCluster()
	stuck := named("v1", "ConfigMap", Namespace, "stuck")
	stuck.SetLabels(map[string]string{Label: "one"})
	if err := c.Apply(t.Context(), []*unstructured.Unstructured{stuck}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := c.gone(ctx, stuck); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "still exists") {
		t.Errorf("got %v", err)
	}
}

func TestApplications(t *testing.T) {
	t.Parallel()
	all, err := newCluster(named("apps/v1", "Deployment", "dev", "hello"), named("v1", "ConfigMap", "dev", "platform-config")).Applications(t.Context())
	var names []string
	for _, o := range all {
		names = append(names, Name(o))
	}
	slices.Sort(names)
	if want := []string{"ConfigMap dev/platform-config", "Deployment dev/hello"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %q, %v", names, err)
	}
}
