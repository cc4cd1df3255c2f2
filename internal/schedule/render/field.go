package render

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// shorthands are fields of the data that are short for a key of a map.
// They are executed as the long form, so that an absent key is noticed.
var shorthands = map[string][]string{
	"Repo":   {"Manifests", "repo"},
	"Branch": {"Manifests", "branch"},
	"Path":   {"Manifests", "path"},
}

// dataFields returns the names of what a template sees.
func dataFields() []string {
	t := reflect.TypeFor[Data]()
	names := make([]string, 0, t.NumField())
	for i := range t.NumField() {
		names = append(names, t.Field(i).Name)
	}
	return names
}

// fieldHint says what somebody who wrote .name may have meant.
func fieldHint(name string, hidden []string) string {
	if slices.Contains(hidden, name) {
		return fmt.Sprintf("configuration values are evaluated before there is a .%s", name)
	}
	fields := dataFields()
	if near := fleet.Nearest(name, fields); near != "" {
		return fmt.Sprintf("did you mean .%s?", near)
	}
	return "a template sees ." + strings.Join(fields, ", .")
}

// absent returns the first of the chains that leads to nothing in d; nil when all lead somewhere.
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

// absentHint says where a key comes from that a template wanted to print.
func absentHint(keys []string) string {
	key := strings.Join(keys[1:], ".")
	switch keys[0] {
	case "Manifests":
		return fmt.Sprintf("set %q in the manifests of the deployment target, or test it first with if, with or default", key)
	case "Repo", "Branch", "Path":
		return fmt.Sprintf("set %q in the manifests of the deployment target, or test it first with if, with or default", strings.ToLower(keys[0]))
	case "Labels":
		return fmt.Sprintf("give the workload or the deployment target the label %q, or test it first with if, with or default", key)
	case "ClusterTypeLabels":
		return fmt.Sprintf("give the cluster type the label %q, or test it first with if, with or default", key)
	case "ConfigData":
		return fmt.Sprintf("set %q in a ConfigMap that applies to the assignment, or test it first with if, with or default", key)
	default:
		return "test it first with if, with or default"
	}
}
