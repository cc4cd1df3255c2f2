package values

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	sigs "sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	at       fleet.Position
	compiled *jsonschema.Schema
}

// The bounds of a schema.
const (
	maxSchemaNodes = 50_000
	maxSchemaDepth = 200
)

// schemaURL is what a schema is called while it is compiled. Nothing is ever read from there.
const schemaURL = "schema:///values"

// offline refuses to load what a schema refers to outside of itself.
type offline struct{}

func (offline) Load(url string) (any, error) {
	return nil, fmt.Errorf("%q is outside of the schema; copy what it refers to into $defs", clip(url))
}

// CompileSchema compiles a JSON Schema, written as JSON or YAML, by default after draft 2020-12.
// It reaches nothing outside of itself, and keywords whose work cannot be bounded beforehand are refused.
// at is where it lies, for messages.
func CompileSchema(at fleet.Position, content []byte) (*Schema, error) {
	document, err := decodeSchema(content)
	if err != nil {
		return nil, fmt.Errorf("read schema %q: %w", at.File, err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(offline{})
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, fmt.Errorf("read schema %q: %w", at.File, oneLine(err))
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		var elsewhere *jsonschema.LoadURLError
		if errors.As(err, &elsewhere) {
			err = elsewhere.Err
		}
		return nil, fmt.Errorf("compile schema %q: %w", at.File, oneLine(err))
	}
	return &Schema{at: at, compiled: compiled}, nil
}

func decodeSchema(content []byte) (any, error) {
	if len(content) > MaxSize {
		return nil, fmt.Errorf("it has %d bytes, more than the %d that are read", len(content), MaxSize)
	}
	var document any
	if err := unmarshal(content, &document); err != nil {
		return nil, err
	}
	text, err := sigs.YAMLToJSON(content)
	if err != nil {
		return nil, err
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	left := maxSchemaNodes
	return plain, boundSchema(plain, &left, 0)
}

// reasonable are numbers that take bounded work: an exponent of nine digits is short to write and takes gigabytes to calculate with.
var reasonable = regexp.MustCompile(`^-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?$`)

// boundSchema refuses what makes the work of checking unbounded.
func boundSchema(v any, left *int, depth int) error {
	*left--
	if *left < 0 || depth > maxSchemaDepth {
		return fmt.Errorf("it has more than %d values, or they nest deeper than %d", maxSchemaNodes, maxSchemaDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key == "$dynamicRef" || key == "$recursiveRef" {
				return fmt.Errorf("%s is not supported; use $ref", key)
			}
			if err := boundSchema(v[key], left, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := boundSchema(item, left, depth+1); err != nil {
				return err
			}
		}
	case json.Number:
		if !reasonable.MatchString(v.String()) {
			return fmt.Errorf("the number %s is out of range", clip(v.String()))
		}
	}
	return nil
}

// Check returns everything in data that the schema does not allow, each at the file and line it is written at.
// data is what the chart sees, its own values included; composed says where values come from. below is the path
// of data within them, for the schema of a chart that another one depends on; empty for all of them.
func (s *Schema) Check(data map[string]any, composed *Composed, below string) (problems []fleet.Problem) {
	// The library has bounds for recursion in schemas, and panics beyond them.
	defer func() {
		if r := recover(); r != nil {
			problems = []fleet.Problem{s.problem(s.at, fmt.Sprintf("the schema cannot be used: %v", r))}
		}
	}()
	var invalid *jsonschema.ValidationError
	if err := s.compiled.Validate(data); !errors.As(err, &invalid) {
		return nil
	}
	for _, cause := range leaves(invalid) {
		path := below
		for _, step := range cause.InstanceLocation {
			path = Join(path, step)
		}
		message := strings.Join(wishes(cause), "; or ")
		problems = append(problems, s.problem(composed.place(path, s.at), fmt.Sprintf("%s: %s", cmp.Or(path, "the values"), message)))
	}
	return fleet.SortProblems(problems)
}

func (s *Schema) problem(at fleet.Position, message string) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindConfigValue, Position: at,
		Message: message, Hint: "as the schema " + s.at.File + " asks for",
	}
}

// place is where the value of a path, or what it lies in, is written; otherwise where nothing says anything about it.
func (c *Composed) place(path string, otherwise fleet.Position) fleet.Position {
	if c == nil || path == "" {
		return otherwise
	}
	n := c.root
	for _, step := range steps(path) {
		field, ok := n.fields[step]
		if !ok {
			break
		}
		n = field
	}
	if n == c.root || n.at == (fleet.Position{}) {
		return otherwise
	}
	return n.at
}

// steps are the keys of a path that Join made.
func steps(path string) []string {
	var all []string
	for path != "" {
		if quoted, err := strconv.QuotedPrefix(path); err == nil {
			key, _ := strconv.Unquote(quoted) // it was quoted by Join
			all = append(all, key)
			path = strings.TrimPrefix(path[len(quoted):], ".")
			continue
		}
		key, rest, _ := strings.Cut(path, ".")
		all = append(all, key)
		path = rest
	}
	return all
}

// oneLine puts an error of a library on one line, without the name that only this package knows.
func oneLine(err error) error {
	return errors.New(strings.ReplaceAll(strings.Join(strings.Fields(err.Error()), " "), schemaURL, ""))
}
