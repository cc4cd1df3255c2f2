package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// convert converts a node of a CustomResourceDefinition to JSON Schema. The result is stricter in one way: unknown
// properties are rejected, so that editors show typos. It is more lenient in another: an optional object or list may
// be null, because users leave "labels:" without content, and Kubernetes treats that as absent.
func convert(in apiextensionsv1.JSONSchemaProps, optional bool) schema {
	out := schema{}
	convertValue(in, out)
	convertObject(in, out)
	convertList(in, out)
	for _, rule := range in.XValidations {
		convertRule(rule.Rule, out)
	}
	switch {
	case in.XIntOrString:
		out["type"] = []string{"integer", "string"}
	case in.Type == "":
		// Any value, such as a schema or a manifest.
	case in.Nullable, optional && (in.Type == "object" || in.Type == "array"):
		out["type"] = []string{in.Type, "null"}
	default:
		out["type"] = in.Type
	}
	return out
}

func convertValue(in apiextensionsv1.JSONSchemaProps, out schema) {
	set(out, "description", in.Description)
	set(out, "pattern", in.Pattern)
	if in.Format == "date-time" {
		out["format"] = in.Format
	}
	if in.MinLength != nil {
		out["minLength"] = *in.MinLength
	}
	if in.MaxLength != nil {
		out["maxLength"] = *in.MaxLength
	}
	if in.Default != nil {
		out["default"] = json.RawMessage(in.Default.Raw)
	}
	if len(in.Enum) > 0 {
		out["enum"] = in.Enum
	}
}

func convertObject(in apiextensionsv1.JSONSchemaProps, out schema) {
	if in.Type != "object" {
		return
	}
	if in.AdditionalProperties != nil && in.AdditionalProperties.Schema != nil {
		out["additionalProperties"] = convert(*in.AdditionalProperties.Schema, false)
	}
	if len(in.Properties) == 0 {
		return
	}
	properties := schema{}
	for name, property := range in.Properties {
		properties[name] = convert(property, !slices.Contains(in.Required, name))
	}
	out["properties"] = properties
	out["additionalProperties"] = false
	if len(in.Required) > 0 {
		out["required"] = in.Required
	}
}

func convertList(in apiextensionsv1.JSONSchemaProps, out schema) {
	if in.Items != nil && in.Items.Schema != nil {
		out["items"] = convert(*in.Items.Schema, false)
	}
	if in.MinItems != nil {
		out["minItems"] = *in.MinItems
	}
	if in.MaxItems != nil {
		out["maxItems"] = *in.MaxItems
	}
	if in.XListType != nil && *in.XListType == "set" {
		out["uniqueItems"] = true
	}
}

var (
	eitherOr    = regexp.MustCompile(`^has\(self\.(\w+)\) != has\(self\.(\w+)\)$`)
	oneOfMany   = regexp.MustCompile(`^\[(has\(self\.\w+\)(?:, has\(self\.\w+\))+)\]\.filter\(\w+, \w+\)\.size\(\) (==|<=) 1$`)
	hasField    = regexp.MustCompile(`has\(self\.(\w+)\)`)
	lowestInt   = regexp.MustCompile(`^type\(self\) != int \|\| self (>=?) 0$`)
	namedByRule = "!self.metadata.name.contains('.') && self.metadata.name.size() <= 63"
)

// convertRule translates the CEL rules that JSON Schema can express. The others are checked by Kubernetes and by
// kalypso validate, but not by editors.
func convertRule(rule string, out schema) {
	if m := eitherOr.FindStringSubmatch(rule); m != nil {
		exactlyOne(out, m[1:]...)
	}
	if m := oneOfMany.FindStringSubmatch(rule); m != nil {
		var fields []string
		for _, field := range hasField.FindAllStringSubmatch(m[1], -1) {
			fields = append(fields, field[1])
		}
		exactlyOne(out, fields...)
		if m[2] == "<=" {
			choices := out["oneOf"].([]schema)
			out["oneOf"] = append(slices.Clone(choices), schema{"not": schema{"anyOf": choices}}) // or none
		}
	}
	if m := lowestInt.FindStringSubmatch(rule); m != nil {
		out["minimum"] = len(">=") - len(m[1]) // 0 for >=, 1 for >
	}
}

func exactlyOne(out schema, fields ...string) {
	var choices []schema
	for _, field := range fields {
		choices = append(choices, schema{"required": []string{field}})
	}
	out["oneOf"] = choices
}

// isNamedByLabel reports whether names of the kind must be DNS labels.
func isNamedByLabel(in *apiextensionsv1.JSONSchemaProps) bool {
	return slices.ContainsFunc(in.XValidations, func(v apiextensionsv1.ValidationRule) bool {
		return v.Rule == namedByRule
	})
}

// set sets a value unless it is empty.
func set(out schema, key, value string) {
	if value != "" {
		out[key] = value
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
