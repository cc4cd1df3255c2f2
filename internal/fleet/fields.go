package fleet

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// fields are the fields of a struct by their names in YAML.
type fields map[string][]int

func (f fields) names() []string { return slices.Collect(maps.Keys(f)) }

// knownFields caches the structs of the known kinds, so that decoding does not read tags.
var knownFields = index(
	reflect.TypeFor[v1alpha1.Environment](), reflect.TypeFor[v1alpha1.BaseRepo](),
	reflect.TypeFor[v1alpha1.GitOpsRepo](), reflect.TypeFor[v1alpha1.ConfigRepo](),
	reflect.TypeFor[v1alpha1.WorkloadRegistration](), reflect.TypeFor[v1alpha1.Workload](),
	reflect.TypeFor[v1alpha1.DeploymentTarget](), reflect.TypeFor[v1alpha1.SchedulingPolicy](),
	reflect.TypeFor[v1alpha1.ClusterType](), reflect.TypeFor[v1alpha1.Cluster](), reflect.TypeFor[v1alpha1.Grant](), reflect.TypeFor[configMapDocument](),
	reflect.TypeFor[schemaDocument](), reflect.TypeFor[templateDocument](),
)

// index collects the fields of structs and of the structs within them.
func index(types ...reflect.Type) map[reflect.Type]fields {
	all := map[reflect.Type]fields{}
	for len(types) > 0 {
		t := types[0]
		types = types[1:]
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || all[t] != nil || reflect.PointerTo(t).Implements(jsonType) {
			continue // not a struct, known, or reads JSON itself
		}
		all[t] = fieldsByName(t)
		for field := range t.Fields() {
			types = append(types, field.Type)
		}
	}
	return all
}

func fieldsOf(t reflect.Type) fields {
	if f := knownFields[t]; f != nil {
		return f
	}
	return fieldsByName(t)
}

// fieldsByName follows the rules of encoding/json: the fields of an embedded struct without a name are promoted.
func fieldsByName(t reflect.Type) fields {
	byName := fields{}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
		case name != "":
			byName[name] = field.Index
		case field.Anonymous:
			for inner, index := range fieldsByName(field.Type) {
				byName[inner] = append(slices.Clone(field.Index), index...)
			}
		}
	}
	return byName
}
