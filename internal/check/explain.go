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

// explain says what a schema found, one finding for each field.
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

// located turns the place that a schema names into a path: it has numbers as text.
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

// unknownFields has a finding for each field that there is not, with the one that was probably meant.
func unknownFields(m *manifest, at fieldPath, names []string) []Finding {
	var findings []Finding
	slices.Sort(names)
	for _, name := range names {
		findings = append(findings, m.finding(RuleSchema, at.at(name), "there is no such field", meant(name)))
	}
	return findings
}

// fieldNames are names that people misspell most.
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
	return "an API server would ignore it: remove it, or correct its name or its indentation"
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

// quoteHint helps with the commonest mistake: a number or a boolean where text is wanted.
func quoteHint(k *kind.Type) string {
	if slices.Contains(k.Want, "string") && slices.Contains([]string{"boolean", "number", "integer"}, k.Got) {
		return "put it into quotes"
	}
	return ""
}
