package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"

	_ "embed"

	"github.com/danielgtaylor/huma/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// about is what the description says about the API as a whole.
const about = `What a fleet is and was, what clusters say, and what people want.

Lists come in pages: next in the answer is after of the request for the next page, and a header Link leads there. Answers
have an ETag; with If-None-Match an answer that is still the same is 304. Times are RFC 3339. Errors are
application/problem+json and say what is wrong, where, and what to do next.`

// schemaPrefix is where the description has the schema of a type.
const schemaPrefix = "#/components/schemas/"

func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer", Description: "A token of this server, the credential of a cluster, or a token of the configured issuer."},
	}
}

// tagOf is the first element of a path.
func tagOf(path string) string {
	tag, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return tag
}

// schemaNames are the names of schemas whose types share a name with another type.
var schemaNames = map[string]string{
	"comply.Counts":       "GateCounts",
	"comply.Reconciler":   "ExpectedReconciler",
	"deliver.Counts":      "DeliveryCounts",
	"fleet.Problem":       "InputProblem",
	"fleet.Ref":           "ObjectRef",
	"ledger.Membership":   "ClusterMembership",
	"ledger.Version":      "WorkloadVersion",
	"plan.Counts":         "PlanCounts",
	"scheduler.Gate":      "GateRules",
	"scheduler.Promotion": "PromotionRules",
}

// schemaName names the schema of a type: as the type, unless schemaNames has another name.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return cmp.Or(schemaNames[packageOf(t)+"."+name], name)
}

// packageOf is the name of the package of a type; versions of API groups go by the group.
func packageOf(t reflect.Type) string {
	dir := t.PkgPath()
	if dir == "" {
		return ""
	}
	if base := path.Base(dir); base != "v1alpha1" {
		return base
	}
	return path.Base(path.Dir(dir))
}

// comments are what the comments of types and fields say, by "package.Type" and "package.Type.Field".
// They are taken from the source; run make generate after it changed.
//
//go:generate go run ./gencomments -out comments.json -openapi ../../../docs/reference/openapi.yaml
//go:embed comments.json
var comments []byte

// description is the API in OpenAPI 3.1.
type description struct{ json, yaml []byte }

// describe returns the description of the API of a version of the program. It is made from an API of its own, since
// what is changed here for readers must not change what requests are checked with.
func describe(version string, comments []byte) (description, error) {
	all := map[string]string{}
	if err := json.Unmarshal(comments, &all); err != nil {
		return description{}, fmt.Errorf("read the comments of the API: %w", err)
	}
	spec := undocumented(version).OpenAPI()
	schemas := spec.Components.Schemas
	for _, t := range []reflect.Type{reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[huma.ErrorDetail]()} {
		delete(schemas.Map(), schemaName(t, "")) // inOurWords replaces them
	}
	for name, schema := range schemas.Map() {
		explain(schema, schemas.TypeFromRef(schemaPrefix+name), all)
		loosen(schema)
	}
	for _, item := range spec.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post} {
			loosenParameters(op)
		}
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return description{}, fmt.Errorf("write the description of the API: %w", err)
	}
	yaml, err := spec.YAML()
	return description{json: text, yaml: bytes.TrimLeft(yaml, "\n")}, err
}

// loosen lets objects have properties that are not described, since answers will have more some day, and says that lists
// are never null.
func loosen(schema *huma.Schema) {
	if closed, ok := schema.AdditionalProperties.(bool); ok && !closed {
		schema.AdditionalProperties = nil
	}
	for _, property := range schema.Properties {
		neverNull(property)
	}
}

func loosenParameters(op *huma.Operation) {
	if op == nil {
		return
	}
	for _, p := range op.Parameters {
		neverNull(p.Schema)
	}
}

func neverNull(schema *huma.Schema) {
	if schema.Type == huma.TypeArray {
		schema.Nullable = false
	}
}

func (d description) write(w http.ResponseWriter, format string) {
	text := d.json
	if format == "yaml" {
		text = d.yaml
	}
	w.Header().Set("Content-Type", "application/openapi+"+format)
	w.Header().Set("Cache-Control", "public, max-age=300")
	_, _ = w.Write(text) // whoever asked may be gone
}

// explain puts the comments of a type and its fields into its schema, where nothing is said yet.
func explain(schema *huma.Schema, t reflect.Type, comments map[string]string) {
	if schema.Description == "" {
		schema.Description = comments[CommentKey(t)]
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		property := schema.Properties[name]
		if property == nil || f.Anonymous {
			continue
		}
		text := comments[CommentKey(ownerOf(t, f))+"."+f.Name]
		if text != "" && property.Description == "" {
			property.Description = text
		}
	}
}

// ownerOf is the type that declares a field, which may be an embedded one.
func ownerOf(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// aliases says how types are described that write themselves as JSON in another way than their fields say.
func aliases(r huma.Registry) {
	r.RegisterTypeAlias(reflect.TypeFor[metav1.Duration](), reflect.TypeFor[string]())
	r.RegisterTypeAlias(reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[numberOrText]())
}

// numberOrText describes what is either.
type numberOrText struct{}

// Schema is for huma.
func (numberOrText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeInteger}, {Type: huma.TypeString}}}
}

// CommentKey names a type in the comments. Instances of a generic type share its name.
func CommentKey(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return packageOf(t) + "." + name
}

// Types returns the types that the API answers and takes, by name, and those that are embedded in them.
func Types() []reflect.Type {
	schemas := undocumented("").OpenAPI().Components.Schemas
	var all []reflect.Type
	add := func(t reflect.Type) {
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schemas.Map())) {
		t := schemas.TypeFromRef(schemaPrefix + name)
		add(t)
		if t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			if f.Anonymous && f.Type.Kind() == reflect.Struct {
				add(f.Type)
			}
		}
	}
	return all
}

// Describe returns the description of the API in YAML, with comments that were taken from the source.
func Describe(comments []byte) ([]byte, error) {
	d, err := describe("v1", comments)
	return d.yaml, err
}

// undocumented is the API of a server that answers nobody.
func undocumented(version string) huma.API {
	return newService(&Server{Events: &Events{}, Log: slog.New(slog.DiscardHandler), Version: version}).api
}
