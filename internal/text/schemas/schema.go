// Package schemas compiles JSON Schemas from untrusted sources, and words their validation errors.
//
// A schema cannot refer to anything outside itself. Keywords that would make validation unbounded are refused,
// such as dynamic references, and numbers that take gigabytes to calculate with.
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

// url names a schema without an $id during compilation. It is never read.
const url = "schema:///document"

// Limits of a schema document.
const (
	maxNodes = 50_000
	maxDepth = 200
)

// Number matches JSON numbers of limited length and with a limited exponent.
var Number = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,99})?([eE][+-]?[0-9]{1,3})?$`)

// Offline is a loader that refuses every reference outside of the schema.
type Offline struct{}

// Load returns an error.
func (Offline) Load(url string) (any, error) {
	return nil, fmt.Errorf("%q is outside of the schema; copy what it refers to into $defs", clip(url))
}

// Options configure [Compile].
type Options struct {
	// Formats makes "format" a check. By default it is an annotation, as in the specification.
	Formats bool
}

// Compile compiles a schema, by default as draft 2020-12. The document can have any Go types that marshal to JSON.
// The error is a single line, and is deterministic.
func Compile(document any, o Options) (*jsonschema.Schema, error) {
	document, err := normalize(document)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(Offline{})
	c.RegisterVocabulary(editorsVocabulary)
	c.RegisterVocabulary(validationsVocabulary)
	c.AssertVocabs() // in every draft, without a metaschema that names them
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

// normalize copies a schema as plain JSON values, and refuses schemas that are too expensive to check.
func normalize(document any) (any, error) {
	// A round trip reduces all Go types to the six that the compiler knows.
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
		for _, key := range slices.Sorted(maps.Keys(v)) { // sorted for a deterministic error
			// Their target depends on the path to them, so the work cannot be bounded in advance.
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
		// Calculating with an exponent of nine digits takes gigabytes.
		if !Number.MatchString(v.String()) {
			return fmt.Errorf("the number %s is out of range", clip(v.String()))
		}
	}
	return nil
}

// explainCompile reduces the compiler's error, which is a tree, to its first cause on one line.
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

// first returns the message of the cause that sorts first, because the compiler's order varies.
func first(causes []*jsonschema.ValidationError, document any) string {
	best := ""
	for _, cause := range causes {
		text := strings.Join(Requirements(cause), "; or ")
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

// lookUp returns the value at a location in a document.
func lookUp(document any, location []string) (any, bool) {
	for _, step := range location {
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
