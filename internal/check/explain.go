package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// explain converts a validation error to findings, one for each field.
func explain(m *manifest, e *jsonschema.ValidationError) []Finding {
	var findings []Finding
	for _, leaf := range schemas.Leaves(e) {
		at := located(m.content, leaf.InstanceLocation)
		switch k := leaf.ErrorKind.(type) {
		case *kind.AdditionalProperties:
			findings = append(findings, unknownFields(m, at, k.Properties)...)
		case *kind.Type:
			findings = append(findings, m.finding(RuleSchema, at, fmt.Sprintf("is %s, want %s", article(k.Got), strings.Join(k.Want, " or ")), quoteHint(k)))
		case *kind.Enum:
			findings = append(findings, m.finding(RuleSchema, at, "is "+schemas.Show(k.Got)+", but "+schemas.Requirement(k), ""))
		default:
			findings = append(findings, m.finding(RuleSchema, at, strings.Join(schemas.Requirements(leaf), "; or "), ""))
		}
	}
	return findings
}

// located converts the location in a validation error, which has indexes as strings, to a path.
func located(content any, location []string) fieldPath {
	var at fieldPath
	for _, step := range location {
		switch c := content.(type) {
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(c) {
				return at
			}
			at, content = append(at, i), c[i]
		case map[string]any:
			at, content = append(at, step), c[step]
		}
	}
	return at
}

// unknownFields returns a finding for each unknown field, with a similar name.
func unknownFields(m *manifest, at fieldPath, names []string) []Finding {
	var findings []Finding
	slices.Sort(names)
	for _, name := range names {
		findings = append(findings, m.finding(RuleSchema, at.at(name), "unknown field", meant(name)))
	}
	return findings
}

// fieldNames are the field names that users misspell most.
var fieldNames = []string{
	"annotations", "args", "command", "containers", "data", "env", "envFrom", "image", "imagePullPolicy", "imagePullSecrets", "initContainers",
	"labels", "limits", "livenessProbe", "matchLabels", "metadata", "name", "namespace", "nodeSelector", "ports", "readinessProbe", "replicas",
	"requests", "resources", "securityContext", "selector", "serviceAccountName", "spec", "startupProbe", "stringData", "strategy", "template",
	"tolerations", "volumeMounts", "volumes",
}

func meant(name string) string {
	if near := fleet.Nearest(name, fieldNames); near != "" && near != name {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "remove it, or correct its name or indentation; an API server would ignore it"
}

func article(kind string) string {
	switch kind {
	case "object":
		return "a map"
	case "array":
		return "a list"
	case "integer":
		return "an integer"
	case "null":
		return "empty"
	}
	return "a " + kind
}

// quoteHint returns the hint for the most common mistake: a number or boolean instead of a string.
func quoteHint(k *kind.Type) string {
	if slices.Contains(k.Want, "string") && slices.Contains([]string{"boolean", "number", "integer"}, k.Got) {
		return "put it into quotes"
	}
	return ""
}
