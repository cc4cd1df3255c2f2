package render

import (
	"bytes"
	"cmp"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// TestZarfPackagesAreValid by the fields of Zarf's schema, for each storage.
func TestZarfPackagesAreValid(t *testing.T) {
	schema := zarfSchema(t)
	for _, manifests := range []map[string]string{
		{"repo": "https://git.example/shop", "path": "./eu"},
		{"storage": "git", "repo": "https://git.example/shop", "branch": "prod"},
		{"storage": "git", "repo": "https://git.example/shop", "tag": "v1.2.0"},
		{"storage": "oci", "repo": "oci://registry.example/shop", "chart": "shop", "version": "1.0.0"},
		{"storage": "helm", "repo": "https://charts.example", "chart": "shop", "tag": "1.0.0"},
		{"storage": "helm", "repo": "https://charts.example", "chart": "3scale", "tag": "1.0.0"},
	} {
		out := zarfPackage(t, "shop-prod", manifests)
		asJSON, err := yaml.YAMLToJSON(out)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%v: %v\n%s", manifests, err, out)
		}
	}
}

// TestZarfAllowsNames follows the rules for names that "zarf package create" checks besides the schema: at most 40 bytes for manifests and
// charts, and DNS labels of RFC 1035 for Helm releases, which are named after their charts if they have no name. They are in
// src/internal/api/v1alpha1/validate.go of Zarf (ZarfMaxChartNameLength, validateReleaseName).
func TestZarfAllowsNames(t *testing.T) {
	const most = 40
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`)
		target := label.Draw(t, "target")
		storage := rapid.SampledFrom([]string{"git", "oci", "helm"}).Draw(t, "storage")
		manifests := map[string]string{"repo": "https://example.com/shop", "storage": storage}
		if storage != "git" {
			manifests["version"] = "1.0.0"
			anything := rapid.StringMatching(`[A-Za-z0-9._-]{1,80}`)
			manifests["chart"] = rapid.OneOf(rapid.Just(""), label, anything).Draw(t, "chart")
		}
		var written struct {
			Components []struct {
				Manifests []struct{ Name string }
				Charts    []struct{ Name, ReleaseName, RepoName string }
			}
		}
		out := zarfPackage(t, target, manifests)
		if err := yaml.Unmarshal(out, &written); err != nil || len(written.Components) != 1 {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, m := range written.Components[0].Manifests {
			if len(m.Name) > most {
				t.Errorf("the manifests %q have a name of %d bytes", m.Name, len(m.Name))
			}
		}
		for _, c := range written.Components[0].Charts {
			release := cmp.Or(c.ReleaseName, c.Name)
			if errs := validation.IsDNS1035Label(release); len(c.Name) > most || len(errs) > 0 {
				t.Errorf("chart %q of %d bytes, release %q: %v", c.Name, len(c.Name), release, errs)
			}
			if got, want := cmp.Or(c.RepoName, c.Name), cmp.Or(manifests["chart"], target); got != want {
				t.Errorf("the chart is %q, want %q", got, want)
			}
		}
	})
}

func zarfSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/zarf.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("zarf.json", document); err != nil {
		t.Fatal(err)
	}
	return compiler.MustCompile("zarf.json")
}

// zarfPackage renders the built-in template.
func zarfPackage(t rapid.TB, target string, manifests map[string]string) []byte {
	t.Helper()
	l, _ := NewLibrary(&fleet.Snapshot{}, nil)
	template, _ := l.Find(v1alpha1.ReconcilerTemplate, "zarf")
	d := exampleData(target)
	d.Manifests = manifests
	out, warnings, err := l.Worker().Render(template, &d)
	if err != nil || len(warnings) > 0 || template.FileName() != "zarf.yaml" {
		t.Fatalf("%v: %v, %v", manifests, warnings, err)
	}
	return out
}
