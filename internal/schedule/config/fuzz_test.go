package config

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// FuzzSchema checks arbitrary data with arbitrary schemas: no panic, no endless work, the same findings twice.
func FuzzSchema(f *testing.F) {
	f.Add(`{"properties": {"A": {"type": "integer"}}, "required": ["B"]}`, "x")
	f.Add(`{"anyOf": [{"$ref": "#"}, {"type": "object"}]}`, "a: {b: 1}")
	f.Add(`{"properties": {"A": {"patternProperties": {"^x": {"multipleOf": 0.1}}, "unevaluatedProperties": false}}}`, "x: 1\ny: 2")
	f.Add(`{"propertyNames": {"maxLength": 0}, "additionalProperties": {"oneOf": [{"const": 1}, {"enum": ["1"]}]}}`, "1")
	f.Add(`{"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"A": ["B"]}, "format": "regex"}`, "[")
	f.Add(`{"properties": {"A": {"items": {"items": {"contains": {"minimum": 1e400}}}}}}`, "l: [[1, .inf], [.nan]]")
	f.Add(`true`, "")
	f.Add(`{"if": {"properties": {"A": {"const": true}}}, "then": {"not": {}}, "$dynamicRef": "#a"}`, "true")
	f.Fuzz(func(t *testing.T, schemaText, value string) {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(schemaText))
		if err != nil {
			return
		}
		s := pair(oneText("base", nil, value))
		s.Schemas = []*fleet.Schema{{Name: "fuzzed", Document: document}}
		first, second := compose1(t, s), compose1(t, s)
		if len(first.Problems) != len(second.Problems) {
			t.Fatalf("%d problems, then %d", len(first.Problems), len(second.Problems))
		}
		for i, p := range first.Problems {
			if p != second.Problems[i] {
				t.Fatalf("%v, then %v", p, second.Problems[i])
			}
			if p.Message == "" || strings.ContainsRune(p.Message, '\n') {
				t.Fatalf("message %q", p.Message)
			}
		}
	})
}

// FuzzValue reads arbitrary data of two layers: no panic, and a text that is no map stays what it is.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{
		"KEY: text", "KEY: {a: [1, {name: x}]}", "KEY: |\n  a: &a {b: 1}\n  c: *a\n", "KEY: '{{ x }}'", `KEY: "'x'"`,
		"KEY: |\n  <<: [{a: 1}, {b: 2}]\n", "KEY: !!binary aGk=", "KEY: ? [a]", "KEY: |\n  a: &a\n    b: *a\n", "KEY: {{ x }}",
	} {
		f.Add(seed, "KEY: {a: [{name: x, b: 1}]}")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		s := pair()
		for i, data := range []string{first, second} {
			var root yaml.Node
			if yaml.Unmarshal([]byte(data), &root) != nil || len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
				return
			}
			c := &fleet.ConfigMap{Name: string(rune('a' + i))}
			for j := 0; j+1 < len(root.Content[0].Content); j += 2 {
				c.Entries = append(c.Entries, fleet.ConfigEntry{Key: root.Content[0].Content[j].Value, Value: root.Content[0].Content[j+1]})
			}
			s.Configs = append(s.Configs, c)
		}
		r := compose1(t, s)
		for _, key := range r.Keys() {
			if key.From.ConfigMap == "" {
				t.Fatalf("%s comes from nowhere", key.Path)
			}
		}
		if r.Data == nil {
			t.Fatal("no data")
		}
	})
}
