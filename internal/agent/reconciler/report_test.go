package reconciler

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// parse reads the documents of a case, as an API server would return them.
func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, doc := range regexp.MustCompile(`(?m)^---$`).Split(text, -1) {
		data, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		all = append(all, u)
	}
	return all
}

func finder(all []*unstructured.Unstructured) Find {
	return func(kind, namespace, name string) *unstructured.Unstructured {
		for _, u := range all {
			if u.GetKind() == kind && u.GetNamespace() == namespace && u.GetName() == name {
				return u
			}
		}
		return nil
	}
}

// maker knows what Fleet made if there is any of it: a case without is one in which it cannot be read.
func maker(all []*unstructured.Unstructured) Made {
	return func(kind, namespace, gitRepo string) (made []*unstructured.Unstructured, readable bool) {
		for _, u := range all {
			if u.GetKind() != kind {
				continue
			}
			readable = true
			if ofNamespace, of := madeOf(u); ofNamespace == namespace && of == gitRepo {
				made = append(made, u)
			}
		}
		return made, readable
	}
}

// kindOf finds the kind by its name in the singular, since the cases have no resources.
func kindOf(u *unstructured.Unstructured) Kind {
	for _, k := range Known() {
		singular := strings.TrimSuffix(strings.Replace(k.Resource, "repositories", "repository", 1), "s")
		if k.Group == u.GroupVersionKind().Group && singular == strings.ToLower(u.GetKind()) {
			return k
		}
	}
	return Kind{}
}

// TestReports runs the cases: objects.yaml, and what they say. They say the same after trimming.
func TestReports(t *testing.T) {
	t.Parallel()
	casetest.Run(t, "testdata/*.txtar", func(t *testing.T, c casetest.Case) {
		objects := parse(t, c.Text("objects.yaml"))
		got := said(t, objects)
		c.Golden(t, "reports.json", got)
		for i, u := range objects {
			objects[i] = trim(u, kindOf(u))
		}
		if trimmed := said(t, objects); trimmed != got {
			t.Errorf("after trimming: got %s", trimmed)
		}
	})
}

func said(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	var text bytes.Buffer
	for _, u := range objects {
		for _, r := range Reports(u, finder(objects), maker(objects), noon) {
			wantFit(t, r)
			encoder := json.NewEncoder(&text)
			encoder.SetIndent("", "  ")
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	return strings.ReplaceAll(text.String(), ",\n  \"observed\": \"0001-01-01T00:00:00Z\"", "")
}

// wantFit wants a report that the server takes, once it has a time.
func wantFit(t *testing.T, r hub.Report) {
	t.Helper()
	r.Observed = noon
	if err := r.Check(); err != nil {
		t.Errorf("%+v: %v", r, err)
	}
}

// Whatever an object says, there is no panic, and the server would take what is reported.
func FuzzReports(f *testing.F) {
	f.Add("Kustomization", []byte(`{"spec":{"sourceRef":{"kind":"Kustomization","name":"x"}},"status":{"conditions":[{"type":"Ready","status":"False","message":"a\nb"}]}}`))
	f.Add("HelmRelease", []byte(`{"spec":{"chart":{"spec":{"sourceRef":[]}}},"status":{"history":[1,{"status":"deployed","chartVersion":1}]}}`))
	f.Add("Application", []byte(`{"spec":{"sources":[{"repoURL":"https://u:p@h/?q"},7]},"status":{"sync":{"status":"Synced","revisions":["a"]},"history":[{"revision":{}}]}}`))
	f.Add("Deployment", []byte(`{"metadata":{"generation":2.5,"annotations":{"hub.kalypso.io/path":"../.."}},"spec":{"replicas":"x"},"status":7}`))
	f.Add("GitRepo", []byte(`{"metadata":{"namespace":"fleet-local"},"spec":{"repo":"https://u:p@h/?q","paths":["a",7],"bundles":[{}]},"status":{"commit":"c","gitJobStatus":"Current"}}`))
	f.Add("BundleDeployment", []byte(`{"metadata":{"labels":{"fleet.cattle.io/commit":"c","fleet.cattle.io/bundle-name":7}},"spec":{"deploymentID":"a","stagedDeploymentID":"a"},`+
		`"status":{"appliedDeploymentID":"a","nonReadyStatus":[{"kind":"Pod","summary":{"message":[1,"a\nb"],"error":true}},7],"modifiedStatus":[{"missing":true}],"conditions":[{"type":"Installed","status":"True"}]}}`))
	groups := map[string]string{
		"GitRepo": "fleet.cattle.io/v1alpha1", "BundleDeployment": "fleet.cattle.io/v1alpha1",
		"Kustomization": "kustomize.toolkit.fluxcd.io/v1", "HelmRelease": "helm.toolkit.fluxcd.io/v2",
		"Application": "argoproj.io/v1alpha1", "Deployment": "apps/v1",
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		var fields map[string]any
		if groups[kind] == "" || json.Unmarshal(data, &fields) != nil || fields == nil {
			t.Skip()
		}
		if metadata, ok := fields["metadata"].(map[string]any); ok {
			metadata["name"] = "x"
		} else {
			fields["metadata"] = map[string]any{"name": "x"}
		}
		fields["apiVersion"], fields["kind"] = groups[kind], kind
		u := &unstructured.Unstructured{Object: fields}
		find := func(string, string, string) *unstructured.Unstructured { return u }
		// Fleet makes Bundles and BundleDeployments with any content of a GitRepo that has been fetched.
		made := func(string, string, string) ([]*unstructured.Unstructured, bool) {
			return []*unstructured.Unstructured{u}, true
		}
		repo := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "GitRepo", "metadata": map[string]any{"namespace": "fleet-local", "name": "x"},
			"spec": map[string]any{"repo": "https://example.com/x"}, "status": map[string]any{"commit": "c", "gitJobStatus": "Current"},
		}}
		for _, r := range slices.Concat(Reports(u, find, made, noon), Reports(trim(u, kindOf(u)), find, made, noon), Reports(repo, find, made, noon)) {
			wantFit(t, r)
		}
	})
}

func TestMessageIsBounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"lines", "a\r\n\tb\x1b[31m\u0085c", "a b [31m c"},
		{"not UTF-8", "a\xffb", "a?b"},
		{"credentials", "clone https://ann:s3cret@example.com/r?token=s3cret: no", "clone https://example.com/r no"},
		{"long", strings.Repeat("é", 600), strings.Repeat("é", 510) + "..."},
		{"a credential at the limit", strings.Repeat("x", 1000) + " https://ann:s3cret-s3cret-s3cret@example.com", strings.Repeat("x", 1000) + " https://example.com"},
	} {
		if got := message(test.text); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestParseKind(t *testing.T) {
	t.Parallel()
	if k, err := ParseKind("apps/deployments"); err != nil || k.GroupResource().String() != "deployments.apps" {
		t.Errorf("got %v, %v", k, err)
	}
	for _, wrong := range []string{"", "deployments", "apps/Deployments", "/x", "a..b/c", "../c", "argoproj.io/applications"} {
		if k, err := ParseKind(wrong); err == nil {
			t.Errorf("%q: got %v, want an error", wrong, k)
		}
	}
}
