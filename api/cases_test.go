package api_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

var update = flag.Bool("update", false, "rewrite the golden sections of the cases")

// TestRules runs the cases */*/testdata/*.txtar. Each shows one rule of the types, with documents that satisfy it
// (passes.yaml) and documents that violate it (fails.yaml). The golden part has the errors of the latter, from
// Kubernetes with the generated definitions and from an editor with the generated schemas.
func TestRules(t *testing.T) {
	kubernetes, editor := loadCRDs(t), loadEditor(t)
	for _, path := range cases(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive := parseCase(t, path)
			for _, doc := range documents(t, section(archive, "passes.yaml")) {
				for _, finding := range slices.Concat(kubernetes.check(t, doc), editor.check(t, doc), strictDecode(doc)) {
					t.Errorf("%s should pass: %s", name(doc), finding)
				}
			}
			var byKubernetes, byEditor []string
			for _, doc := range documents(t, section(archive, "fails.yaml")) {
				byKubernetes = append(byKubernetes, findings(doc, kubernetes.check(t, doc))...)
				byEditor = append(byEditor, findings(doc, editor.check(t, doc))...)
			}
			golden(t, path, archive, map[string][]string{"kubernetes": byKubernetes, "editor": byEditor})
		})
	}
}

func cases(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*/*/testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	return paths
}

func parseCase(t *testing.T, path string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

func section(archive *txtar.Archive, name string) []byte {
	for _, f := range archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// golden compares sections of the case with the expected content, or rewrites them.
func golden(t *testing.T, path string, archive *txtar.Archive, want map[string][]string) {
	t.Helper()
	for _, name := range []string{"kubernetes", "editor"} {
		text := strings.Join(want[name], "\n") + "\n"
		if *update {
			archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
			continue
		}
		if diff := cmp.Diff(string(section(archive, name)), text); diff != "" {
			t.Errorf("what the %s says (-golden +got); -update rewrites it:\n%s", name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func documents(t *testing.T, data []byte) []map[string]any {
	t.Helper()
	var docs []map[string]any
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := yaml.YAMLToJSONStrict(text)
		if err != nil {
			t.Fatal(err)
		}
		// Kubernetes' decoder distinguishes integers from other numbers.
		var doc map[string]any
		if err := utiljson.Unmarshal(asJSON, &doc); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
}

// findings prefixes each finding with the name of the document; a document without findings is listed, too.
func findings(doc map[string]any, found []string) []string {
	if len(found) == 0 {
		return []string{name(doc) + ": passes"}
	}
	for i, f := range found {
		found[i] = name(doc) + ": " + f
	}
	slices.Sort(found)
	return found
}

func name(doc map[string]any) string {
	u := unstructured.Unstructured{Object: doc}
	return u.GetKind() + "/" + u.GetName()
}

// strictDecode returns the fields that the document's Go type does not have.
func strictDecode(doc map[string]any) []string {
	scheme := runtime.NewScheme()
	if err := errors.Join(scheduler.AddToScheme(scheme), hub.AddToScheme(scheme), app.AddToScheme(scheme)); err != nil {
		return []string{err.Error()}
	}
	u := unstructured.Unstructured{Object: doc}
	into, err := scheme.New(u.GroupVersionKind())
	if err != nil {
		return []string{err.Error()}
	}
	data, err := yaml.Marshal(doc)
	if err != nil {
		return []string{err.Error()}
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		return []string{fmt.Sprintf("decode: %v", err)}
	}
	return nil
}
