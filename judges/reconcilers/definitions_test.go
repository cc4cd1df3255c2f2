package reconcilers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// modules have the definitions, in the versions that clusters install today.
var modules = []struct{ path, version, sum, files string }{
	{"github.com/fluxcd/source-controller", "v1.9.1", "h1:FF8XTxLND/pXzVtUESKURUDiItFJQDZBZkbHvZimN8s=", "config/crd/bases/*.yaml"},
	{"github.com/fluxcd/kustomize-controller", "v1.9.5", "h1:/XY2zy3K7fntyppEXIHG7oRMzmfgIt50eJzUfaPX1Kc=", "config/crd/bases/*.yaml"},
	{"github.com/fluxcd/helm-controller", "v1.6.0", "h1:jlS5X11SG26gspubB5aLrdVSCm0q0tA4ULsY+vwSkL0=", "config/crd/bases/*.yaml"},
	{"github.com/argoproj/argo-cd/v3", "v3.5.7", "h1:Xm1BF+I5OgDKUG3SDK49vn2/Y5AMyaNVko+/JT08gj0=", "manifests/crds/*-crd.yaml"},
	{"github.com/rancher/fleet", "v0.15.0", "h1:cnFmHdJOYCQNiMfy00qvaQxiUZcJOCoyD3TTBMV6egk=", "charts/fleet-crd/templates/crds.yaml"},
}

// definition checks documents of one kind and version as an API server does.
type definition struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// definitions are those of all modules, by "group/version Kind".
func definitions(t *testing.T) map[string]*definition {
	t.Helper()
	all := map[string]*definition{}
	for _, m := range modules {
		paths, err := filepath.Glob(filepath.Join(download(t, m.path, m.version, m.sum), filepath.FromSlash(m.files)))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s has no definitions in %s: %v", m.path, m.files, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for document := range strings.SplitSeq(string(text), "\n---\n") {
				if err := define(all, []byte(document)); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
			}
		}
	}
	return all
}

// download returns the folder of a module.
func download(t *testing.T, path, version, sum string) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", path+"@"+version).Output()
	var m struct{ Dir, Sum, Error string }
	if err := errors.Join(err, json.Unmarshal(out, &m)); err != nil {
		t.Fatalf("download %s@%s: %v %s", path, version, err, m.Error)
	}
	if m.Sum != sum {
		t.Errorf("%s@%s has the checksum %s, want %s", path, version, m.Sum, sum)
	}
	return m.Dir
}

func define(all map[string]*definition, text []byte) error {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil || crd.Kind != "CustomResourceDefinition" {
		return err
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	scheme.Default(&crd)
	for _, v := range crd.Spec.Versions {
		var schema apiextensions.JSONSchemaProps
		if err := scheme.Convert(v.Schema.OpenAPIV3Schema, &schema, nil); err != nil {
			return err
		}
		structural, err := structuralschema.NewStructural(&schema)
		if err != nil {
			return err
		}
		validator, _, err := validation.NewSchemaValidator(&schema)
		if err != nil {
			return err
		}
		all[crd.Spec.Group+"/"+v.Name+" "+crd.Spec.Names.Kind] = &definition{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
	}
	return nil
}

// check returns everything that an API server refuses, with unknown fields.
func (d *definition) check(document map[string]any) []string {
	document = runtime.DeepCopyJSON(document)
	var found []string
	for _, path := range pruning.PruneWithOptions(document, d.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		found = append(found, path+": unknown field")
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(document, d.structural)
	defaulting.Default(document, d.structural)
	errs := validation.ValidateCustomResource(nil, document, d.schema)
	if d.rules != nil && len(errs) == 0 {
		errs, _ = d.rules.Validate(context.Background(), nil, d.structural, document, nil, celconfig.RuntimeCELCostBudget)
	}
	for _, err := range errs {
		found = append(found, fmt.Sprint(err))
	}
	return found
}
