package api_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// crds checks documents as a Kubernetes API server with our definitions installed would, by group and kind.
type crds map[string]*crdCheck

type crdCheck struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// TestCRDs validates every definition like an API server: it must be structural, its defaults must be valid, and its
// rules must compile and have an estimated cost within the server's limits.
func TestCRDs(t *testing.T) {
	for path, crd := range readCRDs(t) {
		for _, err := range crdvalidation.ValidateCustomResourceDefinition(context.Background(), crd) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func readCRDs(t *testing.T) map[string]*apiextensions.CustomResourceDefinition {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	paths, err := filepath.Glob("crds/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no definitions found: %v", err)
	}
	out := map[string]*apiextensions.CustomResourceDefinition{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var external apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &external); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		scheme.Default(&external)
		// An API server sets this when it stores the definition.
		external.Status.StoredVersions = []string{external.Spec.Versions[0].Name}
		var internal apiextensions.CustomResourceDefinition
		if err := scheme.Convert(&external, &internal, nil); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out[path] = &internal
	}
	return out
}

// taken are short names of kinds that are often on the same clusters: those of Kubernetes, Cluster API, Flux, Argo CD and Fleet.
var taken = []string{
	"kcp", "kct", "cl", "ma", "md", "ms", "mp", "mhc", "cc", "app", "apps", "appset", "appproj", "ks", "hr", "gitrepo", "gr", "ocirepo", "helmrepo", "hc", "ns", "po", "svc", "deploy", "ds",
	"sts", "rs", "cm", "sa", "pv", "pvc", "ing", "netpol", "crd", "crds", "no", "ev", "ep", "quota", "limits", "hpa", "pdb", "cj", "csr", "sc", "pc",
}

// TestKubectlShowsKinds: "kubectl get" shows more of a kind than its age, "kubectl get kalypso" shows all kinds, and no short name is that of another kind.
func TestKubectlShowsKinds(t *testing.T) {
	for path, crd := range readCRDs(t) {
		if !slices.Contains(crd.Spec.Names.Categories, "kalypso") {
			t.Errorf("%s: it is not in the category kalypso", path)
		}
		for _, name := range crd.Spec.Names.ShortNames {
			if slices.Contains(taken, name) {
				t.Errorf("%s: the short name %s is that of another kind", path, name)
			}
		}
		columns := crd.Spec.AdditionalPrinterColumns
		if len(columns) < 2 {
			t.Errorf("%s: kubectl shows only names and ages", path)
		}
		for _, c := range columns {
			if !exists(crd.Spec.Validation.OpenAPIV3Schema, c.JSONPath) {
				t.Errorf("%s: the column %s shows %s, which does not exist", path, c.Name, c.JSONPath)
			}
		}
	}
}

// exists reports whether a schema has the field of a column.
func exists(s *apiextensions.JSONSchemaProps, path string) bool {
	if strings.HasPrefix(path, ".metadata.") {
		return true
	}
	for _, step := range regexp.MustCompile(`\.\w+|\[[^\]]*\]`).FindAllString(path, -1) {
		if s == nil {
			return false
		}
		if strings.HasPrefix(step, "[") {
			if s.Items == nil {
				return false
			}
			s = s.Items.Schema
			continue
		}
		below, ok := s.Properties[step[1:]]
		if !ok {
			return false
		}
		s = &below
	}
	return true
}

func loadCRDs(t *testing.T) crds {
	t.Helper()
	checks := crds{}
	for path, crd := range readCRDs(t) {
		props := crd.Spec.Validation.OpenAPIV3Schema
		structural, err := structuralschema.NewStructural(props)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		schema, _, err := validation.NewSchemaValidator(props)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		checks[crd.Spec.Group+" "+crd.Spec.Names.Kind] = &crdCheck{
			structural: structural,
			schema:     schema,
			rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
		}
	}
	return checks
}

// check returns all errors that Kubernetes reports for the document,
// including unknown fields, which kubectl rejects by default.
func (c crds) check(t *testing.T, doc map[string]any) []string {
	t.Helper()
	check, ok := c[groupKindOf(doc)]
	if !ok {
		return []string{"no definition of this kind"}
	}
	doc = runtime.DeepCopyJSON(doc)
	var found []string
	unknown := pruning.PruneWithOptions(doc, check.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		found = append(found, path+": Unknown field")
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(doc, check.structural)
	defaulting.Default(doc, check.structural)

	errs := validation.ValidateCustomResource(nil, doc, check.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, check.structural, doc)...)
	// As in an API server, rules are checked only on documents that match the schema.
	if check.rules != nil && len(errs) == 0 {
		celErrs, _ := check.rules.Validate(context.Background(), nil, check.structural, doc, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, celErrs...)
	}
	for _, err := range errs {
		found = append(found, err.Error())
	}
	return found
}

// groupKindOf identifies the kind of a document, as "group kind": two groups can have a kind of the same name.
func groupKindOf(doc map[string]any) string {
	version, _ := doc["apiVersion"].(string)
	group, _, _ := strings.Cut(version, "/")
	return group + " " + kindOf(doc)
}

func kindOf(doc map[string]any) string {
	kind, _ := doc["kind"].(string)
	return kind
}

// TestEveryRuleIsShown fails if a kind has no passing document, or if a rule, an enum or a pattern of its spec has no
// document that violates it.
func TestEveryRuleIsShown(t *testing.T) {
	shown := map[string]bool{}
	passes := map[string]bool{}
	index := regexp.MustCompile(`\[\d+\]`)
	for _, path := range cases(t) {
		archive := parseCase(t, path)
		for _, doc := range documents(t, section(archive, "passes.yaml")) {
			passes[kindOf(doc)] = true
		}
		for line := range strings.Lines(string(section(archive, "kubernetes"))) {
			object, rest, _ := strings.Cut(line, ": ")
			kind, _, _ := strings.Cut(object, "/")
			at, _, _ := strings.Cut(rest, ": ")
			shown[kind+" "+index.ReplaceAllString(at, "")] = true
		}
	}
	for _, crd := range readCRDs(t) {
		kind := crd.Spec.Names.Kind
		schema := crd.Spec.Validation.OpenAPIV3Schema
		if !passes[kind] {
			t.Errorf("%s: no case has a document that passes", kind)
		}
		if len(schema.XValidations) > 0 && !shown[kind+" <nil>"] {
			t.Errorf("%s: no case breaks the rules of the kind", kind)
		}
		for at := range restricted("spec", schema.Properties["spec"]) {
			if !shown[kind+" "+at] {
				t.Errorf("%s: no case breaks %s", kind, at)
			}
		}
	}
}

// restricted collects the paths below a node that have a rule, an enum or a pattern.
func restricted(at string, node apiextensions.JSONSchemaProps) map[string]bool {
	found := map[string]bool{}
	if len(node.XValidations) > 0 || len(node.Enum) > 0 || node.Pattern != "" {
		found[at] = true
	}
	for name, property := range node.Properties {
		maps.Copy(found, restricted(at+"."+name, property))
	}
	if node.Items != nil && node.Items.Schema != nil {
		maps.Copy(found, restricted(at, *node.Items.Schema))
	}
	return found
}
