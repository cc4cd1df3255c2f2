package operator

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	hellofleet "github.com/kalypso-io/kalypso/examples/hello-fleet"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// helloFleet has the files of the example, at the paths of [fleettest.Inputs].
func helloFleet(t *testing.T, environment string) map[string]string {
	t.Helper()
	files := map[string]string{}
	all := hellofleet.Files()
	err := fs.WalkDir(all, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		text, err := fs.ReadFile(all, name)
		for from, to := range map[string]string{
			"control-plane/main/": "main/", "control-plane/" + environment + "/": "env/",
			"hello-world-app/main/": "workloads/hello-world-app/", "platform-services/main/nginx/": "workloads/nginx/",
			"platform-services/main/prometheus/": "workloads/prometheus/",
		} {
			if rest, ok := strings.CutPrefix(name, from); ok {
				files[to+rest] = string(text)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// objectsOf returns the documents of the main and the environment's branch as objects, with what an API server and Flux add; ok is false if a
// document cannot be an object.
func objectsOf(t *testing.T, files map[string]string) (objects []client.Object, ok bool) {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range files {
			if (strings.HasPrefix(name, "main/") || strings.HasPrefix(name, "env/")) && path.Ext(name) == ".yaml" && !yield(name) {
				return
			}
		}
	}) {
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader([]byte(files[name]))))
		for {
			text, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			var document map[string]any
			if err != nil || yaml.UnmarshalStrict(text, &document) != nil {
				return nil, false
			}
			if document == nil {
				continue
			}
			o := &unstructured.Unstructured{Object: document}
			known := slices.ContainsFunc(documentKinds(), func(k documentKind) bool { return k.GroupVersionKind == o.GroupVersionKind() })
			if !known || o.GetName() == "" || slices.ContainsFunc(objects, func(other client.Object) bool {
				return other.GetName() == o.GetName() && other.GetObjectKind().GroupVersionKind() == o.GroupVersionKind()
			}) {
				return nil, false
			}
			typed, err := scheme.New(o.GroupVersionKind())
			if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed) != nil {
				return nil, false // an API server refuses it
			}
			o.SetNamespace("shop")
			labels := o.GetLabels()
			if labels == nil {
				labels = map[string]string{}
			}
			labels["kustomize.toolkit.fluxcd.io/name"], labels["kustomize.toolkit.fluxcd.io/namespace"] = "control-plane", "flux-system"
			o.SetLabels(labels)
			annotations := o.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
			o.SetAnnotations(annotations)
			o.SetFinalizers([]string{"example.com/finalizer"})
			objects = append(objects, o)
		}
	}
	return objects, true
}

// served returns an API server's client for objects.
func served(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	objects = append(objects, definitions()...)
	return fake.NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(runtimeObjects(objects)...).Build()
}

func runtimeObjects(objects []client.Object) []runtime.Object {
	var all []runtime.Object
	for _, o := range objects {
		all = append(all, o)
	}
	return all
}

// files returns the content of a bundle by path.
func files(b *bundle.Bundle) map[string]string {
	all := map[string]string{}
	for f := range b.Files {
		all[f.Path] = string(f.Content())
	}
	return all
}

// TestSameBytes: documents give the same files, whether they are in Git or are objects of a namespace.
func TestSameBytes(t *testing.T) {
	cases := map[string]map[string]string{"hello-fleet dev": helloFleet(t, "dev"), "hello-fleet stage": helloFleet(t, "stage")}
	paths, err := filepath.Glob("../schedule/bundle/testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, p := range paths {
		archive, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		cases[filepath.Base(p)] = map[string]string{}
		for _, f := range archive.Files {
			cases[filepath.Base(p)][f.Name] = string(f.Data)
		}
	}
	compared := 0
	for name, texts := range cases {
		objects, ok := objectsOf(t, texts)
		if !ok {
			continue // no API server has these documents
		}
		t.Run(name, func(t *testing.T) {
			environment := "dev"
			if strings.HasSuffix(name, "stage") {
				environment = "stage"
			}
			fromGit := fleettest.Inputs(environment, texts)
			source := &v1alpha1.ObjectsSource{Environment: environment, Repository: fromGit.Branch.Source.Repo}
			documents, err := readDocuments(t.Context(), served(t, objects...), "shop", source)
			if err != nil {
				t.Fatal(err)
			}
			fromObjects := fromGit
			fromObjects.Main, fromObjects.Branch = fleet.Read(nil, documents.Main), fleet.Read(nil, documents.Branch)
			want := files(bundle.Build(fleet.Assemble(fromGit), nil, nil))
			got := files(bundle.Build(fleet.Assemble(fromObjects), nil, nil))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("files (-Git +objects):\n%s", diff)
			}
			if len(want) > 0 {
				compared++
			}
		})
	}
	if compared < 15 {
		t.Errorf("only %d fleets have files to compare", compared)
	}
}

// Problems name the object, without a line. What the original derives from Workloads, and other ConfigMaps, do not count.
func TestDocuments(t *testing.T) {
	object := func(text string) client.Object {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		return o
	}
	const own = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
	all := []client.Object{
		object(own + "kind: ClusterType\nmetadata: {name: wrong, namespace: shop, labels: {team: a}}\nspec: {extends: nothing}"),
		object(own + "kind: ClusterType\nmetadata: {name: elsewhere, namespace: bank, labels: {team: a}}\nspec: {}"),
		object(own + "kind: DeploymentTarget\nmetadata: {name: derived, namespace: shop, labels: {team: a}, ownerReferences: [{apiVersion: scheduler.kalypso.io/v1alpha1, kind: Workload, name: app, uid: b}]}\nspec: {environment: dev, manifests: {}}"),
		object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-root-ca.crt, namespace: shop, labels: {team: a}}\ndata: {}"),
		object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config, namespace: shop, labels: {team: a, platform-config: 'true'}}\ndata: {a: b}"),
		object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-another-team, namespace: shop, labels: {team: b, platform-config: 'true'}}\ndata: {a: c}"),
	}
	source := &v1alpha1.ObjectsSource{Environment: "dev", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}}
	read := func() *Documents {
		t.Helper()
		documents, err := readDocuments(t.Context(), served(t, all...), "shop", source)
		if err != nil {
			t.Fatal(err)
		}
		return documents
	}
	documents := read()
	var names []string
	for _, f := range documents.Branch.Files {
		names = append(names, f.Path)
	}
	if diff := cmp.Diff([]string{"ClusterType shop/wrong", "ConfigMap shop/config"}, names); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	s := fleet.Assemble(fleet.Inputs{Environment: "dev", Main: fleet.Read(nil, documents.Main), Branch: fleet.Read(nil, documents.Branch)})
	if !slices.ContainsFunc(s.Problems, func(p fleet.Problem) bool { return p.Position.String() == "ClusterType shop/wrong" }) {
		t.Errorf("the problems are %v", s.Problems)
	}
	// The commit is that of the content, and of nothing else.
	if again := read(); again.Branch.Commit != documents.Branch.Commit || len(again.Branch.Commit) != 40 {
		t.Errorf("got the commits %s and %s", documents.Branch.Commit, again.Branch.Commit)
	}
	all[4].SetLabels(map[string]string{"team": "a", "platform-config": "true", "region": "west"})
	if changed := read(); changed.Branch.Commit == documents.Branch.Commit {
		t.Error("a changed object has the same commit")
	}
}

// The objects of a namespace take a limited part of the operator's memory, and too many of them are not taken for fewer.
func TestTooManyDocuments(t *testing.T) {
	var all []client.Object
	for _, name := range []string{"a", "b"} {
		all = append(all, &v1alpha1.ClusterType{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}})
	}
	reader := served(t, all...)
	kinds := documentKinds()
	kind := kinds[slices.IndexFunc(kinds, func(k documentKind) bool { return k.Kind == "ClusterType" })]
	room := 1000
	documents, err := listKind(t.Context(), reader, "shop", labels.Everything(), kind, &room)
	if err != nil || len(documents) != 2 || room != 1000-len(documents[0].text)-len(documents[1].text) {
		t.Fatalf("got %v, %v, with room for %d more bytes", documents, err, room)
	}
	room = 999 - room
	if documents, err := listKind(t.Context(), reader, "shop", labels.Everything(), kind, &room); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("got %v, %v", documents, err)
	}
}
