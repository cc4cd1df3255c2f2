// Package schemas compiles JSON Schemas of others, and says what they wanted.
//
// A schema is hostile input: it reaches nothing outside of itself, and what would make checking it unbounded is refused,
// such as references that depend on the way to them, and numbers that take gigabytes to calculate with.
package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// url is what a schema is called while it is compiled, unless it has an $id. Nothing is ever read from there.
const url = "schema:///document"

// Bounds of a schema document.
const (
	maxNodes = 50_000
	maxDepth = 200
)

// Number is the syntax of numbers in JSON, with an exponent that can be calculated with.
var Number = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,99})?([eE][+-]?[0-9]{1,3})?$`)

// Offline refuses to load what a schema refers to outside of itself.
type Offline struct{}

// Load refuses.
func (Offline) Load(url string) (any, error) {
	return nil, fmt.Errorf("%q is outside of the schema; copy what it refers to into $defs", clip(url))
}

// Options say how a schema is compiled.
type Options struct {
	// Formats checks formats. Without it they are only notes, as the specification has it.
	Formats bool
}

// Compile compiles a schema, by default after draft 2020-12. The document consists of any types that mean JSON.
// The error is on one line, and is the same for the same schema.
func Compile(document any, o Options) (*jsonschema.Schema, error) {
	document, err := normalize(document)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(Offline{})
	if o.Formats {
		c.AssertFormat()
	}
	if err := c.AddResource(url, document); err != nil {
		return nil, explainCompile(err, document)
	}
	compiled, err := c.Compile(url)
	if err != nil {
		return nil, explainCompile(err, document)
	}
	return compiled, nil
}

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
	if *nodes > maxNodes || depth > maxDepth {
		return fmt.Errorf("it has more than %d values or is nested deeper than %d", maxNodes, maxDepth)
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
		if !Number.MatchString(v.String()) {
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
		if causes := Leaves(tree); len(causes) > 0 {
			return errors.New(first(causes, document))
		}
	}
	return errors.New(strings.ReplaceAll(strings.Join(strings.Fields(err.Error()), " "), url+"#", "#"))
}

// first is the cause that comes first by its text: the compiler's own order varies.
func first(causes []*jsonschema.ValidationError, document any) string {
	best := ""
	for _, cause := range causes {
		text := strings.Join(Wishes(cause), "; or ")
		if at := strings.Join(cause.InstanceLocation, "."); at != "" {
			text = at + ": " + text
		}
		if value, ok := lookUp(document, cause.InstanceLocation); ok {
			text += ", got " + Show(value)
		}
		if best == "" || text < best {
			best = text
		}
	}
	return best
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
