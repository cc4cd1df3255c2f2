package secrets

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kalypso-io/kalypso/internal/chart/recipe"
)

func password(rotation int) *recipe.Recipe {
	return &recipe.Recipe{
		Secrets: []recipe.Secret{{Name: "db", Rotation: rotation, Labels: map[string]string{"app": "db"}, Keys: []recipe.Key{{Name: "password", Parts: []recipe.Part{{Draw: 1}}}}}},
		Draws:   []recipe.Draw{{Function: recipe.RandAlphaNum, Length: 16}},
	}
}

func clusterWith(objects ...runtime.Object) (*Maker, *fake.FakeDynamicClient) {
	client := fake.NewSimpleDynamicClient(runtime.NewScheme(), objects...)
	return &Maker{Client: client, Namespace: "ns", Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, client
}

func secret(t *testing.T, c *fake.FakeDynamicClient) *unstructured.Unstructured {
	t.Helper()
	o, err := c.Resource(resource).Namespace("ns").Get(t.Context(), "db", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func value(o *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(o.Object, "data", "password")
	return text
}

// A Secret is created, kept, and made again after a rotation.
func TestMake(t *testing.T) {
	m, c := clusterWith()
	if err := m.Make(t.Context(), password(0)); err != nil {
		t.Fatal(err)
	}
	first := secret(t, c)
	if value(first) == "" || first.GetLabels()["app"] != "db" || first.GetAnnotations()[madeAnnotation] != "true" || first.GetAnnotations()[rotationAnnotation] != "0" {
		t.Errorf("got %v", first)
	}
	if err := m.Make(t.Context(), password(0)); err != nil || value(secret(t, c)) != value(first) {
		t.Errorf("the value was not kept: %v", err)
	}
	if err := m.Make(t.Context(), password(1)); err != nil || value(secret(t, c)) == value(first) {
		t.Errorf("the value was not rotated: %v", err)
	}
}

// A Secret that was there keeps its values, and is rotated only from then on.
func TestSecretsThatWereThereAreKept(t *testing.T) {
	there := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "db", "namespace": "ns"}, "data": map[string]any{"password": "bWluZQ=="},
	}}
	m, c := clusterWith(there)
	if err := m.Make(t.Context(), password(3)); err != nil {
		t.Fatal(err)
	}
	if o := secret(t, c); value(o) != "bWluZQ==" || o.GetAnnotations()[rotationAnnotation] != "3" || o.GetAnnotations()[madeAnnotation] != "" {
		t.Errorf("got %v", o)
	}
	if err := m.Make(t.Context(), password(4)); err != nil || value(secret(t, c)) == "bWluZQ==" {
		t.Errorf("the value was not rotated: %v", err)
	}
}

// Another program that writes meanwhile lets the round begin again. An error has no value, though API servers quote what they refuse.
func TestRefusedSecrets(t *testing.T) {
	m, c := clusterWith()
	conflicts := 2
	c.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts--
		return conflicts >= 0, nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, "db")
	})
	if err := m.Make(t.Context(), password(0)); err != nil {
		t.Error(err)
	}
	m, c = clusterWith()
	made := ""
	c.PrependReactor("create", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		made = value(action.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured))
		return true, nil, apierrors.NewBadRequest("denied: " + made)
	})
	if err := m.Make(t.Context(), password(0)); err == nil || made == "" || strings.Contains(err.Error(), made) {
		t.Errorf("got %v", err)
	}
	c.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("cut off: " + made)
	})
	if err := m.Make(t.Context(), password(0)); err == nil || strings.Contains(err.Error(), made) {
		t.Errorf("got %v", err)
	}
}
