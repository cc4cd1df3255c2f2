package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// schema is a compiled ConfigSchema.
type schema struct {
	source *fleet.Schema
	// order is the place among the schemas of the environment.
	order    int
	compiled *jsonschema.Schema
	// broken says why the schema cannot be used; nil when it can.
	broken *fleet.Problem
}

// schemaURL is what a schema is called while it is compiled, unless it has an $id. Nothing is ever read from there.
const schemaURL = "schema:///document"

// offline refuses to load what a schema refers to outside of itself.
type offline struct{}

func (offline) Load(url string) (any, error) {
	return nil, fmt.Errorf("%q is outside of the schema", url)
}

// compile compiles a schema, by default after draft 2020-12. Formats are checked, not only noted,
// because "format" in a schema for configuration is meant as a check.
func compile(source *fleet.Schema) *schema {
	s := &schema{source: source}
	compiled, err := compileDocument(source.Document)
	if err == nil {
		s.compiled = compiled
		return s
	}
	s.broken = &fleet.Problem{
		Severity: fleet.SeverityError,
		Kind:     fleet.KindConfigSchema,
		Object:   s.ref(),
		Position: source.Position,
		Message:  fmt.Sprintf("the schema cannot be used: %v", err),
		Hint:     "correct the schema; what it applies to stays as it is published",
	}
	return s
}

func compileDocument(document any) (*jsonschema.Schema, error) {
	document, err := normalize(document)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(offline{})
	c.AssertFormat()
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, explainCompile(err, document)
	}
	return compiled, nil
}

func (s *schema) ref() fleet.Ref { return fleet.Ref{Kind: "ConfigSchema", Name: s.source.Name} }

// Bounds of a schema document.
const (
	maxSchemaNodes = 50_000
	maxSchemaDepth = 200
)

// normalize copies a schema as plain JSON values, and refuses what could not be checked with bounded work.
func normalize(document any) (any, error) {
	// A round trip turns every Go type that means JSON into the six that the compiler knows.
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	nodes := 0
	return plain, bound(plain, &nodes, 0)
}

// bound refuses documents that are too large, and keywords and numbers that make checking them unbounded.
func bound(v any, nodes *int, depth int) error {
	*nodes++
	if *nodes > maxSchemaNodes || depth > maxSchemaDepth {
		return fmt.Errorf("it has more than %d values or is nested deeper than %d", maxSchemaNodes, maxSchemaDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) { // the first cause is always the same
			// Where they lead depends on the way there, so that the work could not be bounded beforehand.
			if key == "$dynamicRef" || key == "$recursiveRef" {
				return fmt.Errorf("%s is not supported; use $ref", key)
			}
			if err := bound(v[key], nodes, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := bound(item, nodes, depth+1); err != nil {
				return err
			}
		}
	case json.Number:
		// An exponent of nine digits is short to write and takes gigabytes to calculate with.
		if !jsonNumber.MatchString(v.String()) {
			return fmt.Errorf("the number %s is out of range", clip(v.String()))
		}
	}
	return nil
}

// explainCompile shortens the compiler's error, which lists a whole tree, to its first cause in one line.
func explainCompile(err error, document any) error {
	var elsewhere *jsonschema.LoadURLError
	if errors.As(err, &elsewhere) {
		return elsewhere.Err
	}
	var invalid *jsonschema.SchemaValidationError
	var tree *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &tree) {
		if causes := leaves(tree); len(causes) > 0 {
			return errors.New(first(causes, document))
		}
	}
	return errors.New(strings.ReplaceAll(strings.Join(strings.Fields(err.Error()), " "), schemaURL+"#", "#"))
}

// first is the cause that comes first by its text: the compiler's own order varies.
func first(causes []*jsonschema.ValidationError, document any) string {
	best := ""
	for _, cause := range causes {
		text := strings.Join(wishes(cause), "; or ")
		if at := strings.Join(cause.InstanceLocation, "."); at != "" {
			text = at + ": " + text
		}
		if value, ok := lookUp(document, cause.InstanceLocation); ok {
			text += ", got " + show(value)
		}
		if best == "" || text < best {
			best = text
		}
	}
	return best
}

// wishes says what a keyword of a schema wanted, each alternative for itself.
func wishes(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		return []string{wish(e.ErrorKind)}
	}
	var all []string
	for _, cause := range e.Causes {
		for _, leaf := range leaves(cause) {
			all = append(all, wishes(leaf)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// lookUp follows a way from the root of a document, if there is one.
func lookUp(document any, way []string) (any, bool) {
	for _, step := range way {
		switch v := document.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return nil, false
			}
			document = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			document = v[i]
		default:
			return nil, false
		}
	}
	return document, true
}
