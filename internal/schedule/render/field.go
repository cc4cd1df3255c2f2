package render

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// shorthands are data fields that are short for a key of a map.
// They are executed in the long form, so that an absent key is detected.
var shorthands = map[string][]string{
	"Repo":   {"Manifests", "repo"},
	"Branch": {"Manifests", "branch"},
	"Path":   {"Manifests", "path"},
}

func dataFields() []string {
	t := reflect.TypeFor[Data]()
	names := make([]string, 0, t.NumField())
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			names = append(names, f.Name)
		}
	}
	return names
}

func fieldHint(name string, hidden []string) string {
	if slices.Contains(hidden, name) {
		return fmt.Sprintf("configuration values are evaluated before .%s exists", name)
	}
	fields := dataFields()
	if near := fleet.Nearest(name, fields); near != "" {
		return fmt.Sprintf("did you mean .%s?", near)
	}
	return "fields are ." + strings.Join(fields, ", .")
}

// absent returns the first of the key chains that has no value in d, or nil.
func (d *Data) absent(chains [][]string) []string {
	for _, keys := range chains {
		long := keys
		if s, ok := shorthands[keys[0]]; ok {
			long = append(slices.Clone(s), keys[1:]...)
		}
		if !d.has(long) {
			return keys
		}
	}
	return nil
}

// has reports whether a chain of keys leads to a value.
func (d *Data) has(keys []string) bool {
	v := reflect.ValueOf(d).Elem().FieldByName(keys[0])
	for _, key := range keys[1:] {
		for v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.Kind() != reflect.Map || v.Type().Key().Kind() != reflect.String {
			return v.IsValid()
		}
		v = v.MapIndex(reflect.ValueOf(key))
	}
	return v.IsValid() && (v.Kind() != reflect.Interface || !v.IsNil())
}

// absentHint returns the hint for printing an absent key: where to set it.
func absentHint(keys []string) string {
	key, hint := strings.Join(keys[1:], "."), ""
	switch keys[0] {
	case "Manifests":
		hint = fmt.Sprintf("set %q in the manifests of the deployment target, or ", key)
	case "Repo", "Branch", "Path":
		hint = fmt.Sprintf("set %q in the manifests of the deployment target, or ", strings.ToLower(keys[0]))
	case "Labels":
		hint = fmt.Sprintf("add the label %q to the workload or the deployment target, or ", key)
	case "ClusterTypeLabels":
		hint = fmt.Sprintf("add the label %q to the cluster type, or ", key)
	case "ConfigData":
		hint = fmt.Sprintf("set %q in a ConfigMap that applies to the assignment, or ", key)
	}
	return hint + "test it first with if, with or default"
}
