package render

import (
	"bytes"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// TestZarfPackagesAreValid by the fields of Zarf's schema, for each storage.
func TestZarfPackagesAreValid(t *testing.T) {
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
	schema, err := compiler.Compile("zarf.json")
	if err != nil {
		t.Fatal(err)
	}
	source := builtinSources()["zarf"]
	l, _ := NewLibrary(&fleet.Snapshot{}, nil)
	for _, manifests := range []map[string]string{
		{"repo": "https://git.example/shop", "path": "./eu"},
		{"storage": "git", "repo": "https://git.example/shop", "branch": "prod"},
		{"storage": "oci", "repo": "oci://registry.example/shop", "chart": "shop", "version": "1.0.0"},
		{"storage": "helm", "repo": "https://charts.example", "chart": "shop", "tag": "1.0.0"},
	} {
		d := exampleData("shop-prod")
		d.Manifests = manifests
		template, problems := newTemplate(source)
		if len(problems) > 0 || template.FileName() != "zarf.yaml" {
			t.Fatalf("got %v, %s", problems, template.FileName())
		}
		out, warnings, err := l.Worker().Render(template, &d)
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%v: %v, %v", manifests, warnings, err)
		}
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
