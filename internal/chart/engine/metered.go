package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/meter"
)

// helms are the functions that Helm replaces for each chart, or leaves out.
var helms = []string{"env", "expandenv", "getHostByName", "fail", "required", "include", "tpl", "lookup"}

// metered returns all functions of templates that build values, each charged for what it reads and builds: those of sprig, of Helm and of Go, with
// our overrides.
func (m *workMeter) metered() template.FuncMap {
	all := maps.Clone(library())
	maps.DeleteFunc(all, func(name string, _ any) bool {
		return slices.Contains(helms, name) || slices.Contains(chart.RandomFunctions, name)
	})
	maps.Copy(all, formats())
	maps.Copy(all, template.FuncMap{
		"print": fmt.Sprint, "println": fmt.Sprintln, "html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	})
	maps.Copy(all, overrides())
	all["set"] = m.set
	for name, function := range all {
		all[name] = m.values.Metered(name, function)
	}
	all["eq"] = m.values.Equal
	for _, name := range []string{"ne", "lt", "le", "gt", "ge"} {
		all[name] = m.values.Comparison(name)
	}
	return all
}

// set charges for the value before its depth is measured.
func (m *workMeter) set(dst map[string]any, key string, value any) (map[string]any, error) {
	if err := m.values.Measure(reflect.ValueOf(value), 0); err != nil {
		return nil, err
	}
	return set(dst, key, value)
}

// formats are the functions of Helm for YAML, JSON and TOML. They cannot be taken from it to be charged for. As there, what cannot be written is
// empty, unless the name begins with must; and what cannot be read is a map or list with the error.
func formats() template.FuncMap {
	return template.FuncMap{
		"toYaml": quietly(toYAML), "mustToYaml": loudly(toYAML), "toYamlPretty": quietly(toPrettyYAML), "toToml": toTOML,
		"toJson": quietly(toJSON), "mustToJson": loudly(toJSON),
		"fromYaml": mapFrom(unmarshalYAML), "fromJson": mapFrom(json.Unmarshal), "fromToml": mapFrom(toml.Unmarshal),
		"fromYamlArray": listFrom(unmarshalYAML), "fromJsonArray": listFrom(json.Unmarshal),
	}
}

func unmarshalYAML(text []byte, into any) error { return yaml.Unmarshal(text, into) }

func toYAML(v any) (string, error) {
	text, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(text), "\n"), err
}

func toPrettyYAML(v any) (string, error) {
	var text bytes.Buffer
	encoder := goyaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := encoder.Encode(v)
	return strings.TrimSuffix(text.String(), "\n"), err
}

func toJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

func toTOML(v any) string {
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(v); err != nil {
		return err.Error()
	}
	return text.String()
}

func quietly(write func(any) (string, error)) func(any) string {
	return func(v any) string {
		text, err := write(v)
		if err != nil {
			return ""
		}
		return text
	}
}

// loudly panics, which the engine of templates turns into its error.
func loudly(write func(any) (string, error)) func(any) string {
	return func(v any) string {
		text, err := write(v)
		if err != nil {
			panic(err)
		}
		return text
	}
}

func mapFrom(read func([]byte, any) error) func(string) map[string]any {
	return func(text string) map[string]any {
		found := map[string]any{}
		if err := read([]byte(text), &found); err != nil {
			found["Error"] = err.Error()
		}
		return found
	}
}

func listFrom(read func([]byte, any) error) func(string) []any {
	return func(text string) []any {
		found := []any{}
		if err := read([]byte(text), &found); err != nil {
			found = []any{err.Error()}
		}
		return found
	}
}

// newValues returns the meter of the functions of one target.
func newValues() meter.Meter {
	return meter.Meter{Left: maxValues, Limit: maxValues, Result: maxValue, Depth: maxDepth, Absent: true}
}
