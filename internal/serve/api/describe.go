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

// about describes the API.
const about = `The state and history of the fleet, reports of clusters, and commands of users.

Lists are paged: pass next of an answer as after to get the next page; the Link header has its address. Answers have an ETag;
if the ETag in If-None-Match is current, the answer is 304. Times are RFC 3339. Errors are application/problem+json, with their
location and what to do.`

// schemaPrefix is the path of schemas in the description.
const schemaPrefix = "#/components/schemas/"

func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer", Description: "A token of this server, the credential of a cluster, or a token of the configured issuer."},
	}
}

// tagOf returns the first element of a path.
func tagOf(path string) string {
	tag, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return tag
}

// schemaNames has the schema names of types that share their name with another type.
var schemaNames = map[string]string{
	"comply.Counts":         "GateCounts",
	"comply.Reconciler":     "ExpectedReconciler",
	"deliver.Counts":        "DeliveryCounts",
	"deliver.FormField":     "ApplicationFormField",
	"deliver.Plan":          "ApplicationPlan",
	"deliver.ValueChange":   "ApplicationValueChange",
	"fleet.Problem":         "InputProblem",
	"fleet.Ref":             "ObjectRef",
	"ledger.Membership":     "ClusterMembership",
	"ledger.Version":        "WorkloadVersion",
	"plan.Change":           "PlannedChange",
	"scan.Result":           "ScanResult",
	"plan.Counts":           "PlanCounts",
	"plan.Pair":             "PlannedPair",
	"plan.ClusterType":      "PlannedClusterType",
	"plan.Ring":             "PlannedRing",
	"plan.Promotion":        "PlannedPromotion",
	"scheduler.Gate":        "GateRules",
	"scheduler.Promotion":   "PromotionRules",
	"schedule.FormField":    "PlatformFormField",
	"scheduler.Ring":        "RingRules",
	"decide.RollbackTarget": "EarlierCommit",
	"values.Overridden":     "OverriddenValue",
}

// schemaName returns the name of a type's schema: that in schemaNames, or the type's name.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return cmp.Or(schemaNames[packageOf(t)+"."+name], name)
}

// packageOf returns the name of a type's package; for API versions, that of the group.
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

// comments are the comments of types and fields, by "package.Type" and "package.Type.Field".
// They are generated from the source; run make generate after a change.
//
//go:generate go run ./gencomments -out comments.json -openapi ../../../docs/reference/openapi.yaml
//go:embed comments.json
var comments []byte

// description is the API in OpenAPI 3.1.
type description struct{ json, yaml []byte }

// describe returns the description of the API. It uses an API of its own, because its changes for readers must not
// affect how requests are validated.
func describe(version string, comments []byte) (description, error) {
	all := map[string]string{}
	if err := json.Unmarshal(comments, &all); err != nil {
		return description{}, fmt.Errorf("read the comments of the API: %w", err)
	}
	spec := undocumented(version).OpenAPI()
	schemas := spec.Components.Schemas
	for _, t := range []reflect.Type{reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[huma.ErrorDetail]()} {
		delete(schemas.Map(), schemaName(t, "")) // Problem replaces them
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

// loosen allows properties that are not described, for later versions, and declares that lists are never null.
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
	_, _ = w.Write(text) // the client may be gone
}

// explain adds the comments of a type and its fields to its schema, unless it has a description.
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

// ownerOf returns the type that declares a field, which may be embedded.
func ownerOf(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// aliases declares types whose JSON differs from their fields.
func aliases(r huma.Registry) {
	r.RegisterTypeAlias(reflect.TypeFor[metav1.Duration](), reflect.TypeFor[string]())
	r.RegisterTypeAlias(reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[numberOrText]())
}

// numberOrText is an integer or a string.
type numberOrText struct{}

// Schema implements huma.SchemaProvider.
func (numberOrText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeInteger}, {Type: huma.TypeString}}}
}

// CommentKey returns the key of a type in the comments. Instances of a generic type share it.
func CommentKey(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return packageOf(t) + "." + name
}

// Types returns the types in requests and answers, by name, and those embedded in them.
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

// Describe returns the description of the API in YAML, with comments from the source.
func Describe(comments []byte) ([]byte, error) {
	d, err := describe("v1", comments)
	return d.yaml, err
}

// undocumented returns the API of a server that is only described.
func undocumented(version string) huma.API {
	return newService(&Server{Events: &Events{}, Log: slog.New(slog.DiscardHandler), Version: version}).api
}
