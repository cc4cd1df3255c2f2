package values

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	sigs "sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/fleet/formula"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	at       fleet.Position
	compiled *jsonschema.Schema
	rules    formula.Rules // across values
}

// CompileSchema compiles a JSON Schema, written as JSON or YAML. The draft defaults to 2020-12.
// References to anything outside, and keywords whose work cannot be bounded, are errors.
// at is the schema's position, for messages.
func CompileSchema(at fleet.Position, content []byte) (*Schema, error) {
	document, err := decodeSchema(content)
	if err != nil {
		return nil, fmt.Errorf("read schema %q: %w", at.File, err)
	}
	compiled, err := schemas.Compile(document, schemas.Options{})
	if err != nil {
		return nil, fmt.Errorf("compile schema %q: %w", at.File, err)
	}
	rules, err := formula.RulesOf(compiled)
	if err != nil {
		return nil, fmt.Errorf("compile schema %q: %w", at.File, err)
	}
	return &Schema{at: at, compiled: compiled, rules: rules}, nil
}

func decodeSchema(content []byte) (any, error) {
	if len(content) > MaxSize {
		return nil, fmt.Errorf("it has %d bytes, more than the %d that are read", len(content), MaxSize)
	}
	var document any
	if err := fleet.UnmarshalYAML(content, &document); err != nil {
		return nil, err
	}
	text, err := sigs.YAMLToJSON(content)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

// Fields returns the values that the schema describes by name; see [schemas.Fields].
func (s *Schema) Fields() (fields []schemas.Field, more bool, err error) {
	if fields, more, err = schemas.Fields(s.compiled); err != nil {
		err = fmt.Errorf("schema %q: %w", s.at.File, err)
	}
	return fields, more, err
}

// Check returns everything in data that the schema does not allow, with file and line.
// data is what the chart sees, including its default values; composed has the origins of values. below is the path
// of data within them, for the schema of a dependency; empty for the root.
func (s *Schema) Check(data map[string]any, composed *Composed, below string) (problems []fleet.Problem) {
	// The library limits recursion in schemas, and panics beyond that.
	defer func() {
		if r := recover(); r != nil {
			problems = []fleet.Problem{s.problem(s.at, fmt.Sprintf("the schema cannot be used: %v", r))}
		}
	}()
	var invalid *jsonschema.ValidationError
	if err := s.compiled.Validate(data); !errors.As(err, &invalid) {
		return s.brokenRules(data, composed, below)
	}
	for _, cause := range schemas.Leaves(invalid) {
		path := below
		for _, step := range cause.InstanceLocation {
			path = Join(path, step)
		}
		message := strings.Join(schemas.Requirements(cause), "; or ")
		p := s.problem(composed.place(path, s.at), fmt.Sprintf("%s: %s", cmp.Or(path, "the values"), message))
		if lacks, ok := cause.ErrorKind.(*kind.Required); ok {
			p.Hint += s.editors(cause.InstanceLocation, lacks.Missing)
			p.Lacks, p.SetBy = s.lacking(path, cause.InstanceLocation, lacks.Missing)
		}
		problems = append(problems, p)
	}
	return fleet.SortProblems(problems)
}

// lacking returns the keys of missing values of a map, and who may set any of them.
func (s *Schema) lacking(below string, location, missing []string) (keys, setBy string) {
	var all, names []string
	for _, key := range missing {
		all = append(all, Join(below, key))
		names = append(names, s.Rule().Editors(append(slices.Clone(location), key))...)
	}
	slices.Sort(names)
	return strings.Join(all, ", "), editing.Names(slices.Compact(names))
}

// editors returns who may set missing values of a map, for the end of a hint.
func (s *Schema) editors(location, missing []string) string {
	text := ""
	for _, key := range missing {
		path := append(slices.Clone(location), key)
		if names := s.Rule().Editors(path); len(names) > 0 {
			text += fmt.Sprintf("; %s may set %s", editing.Names(names), dotted(path))
		}
	}
	return text
}

// brokenRules returns the rules across values that data breaks.
func (s *Schema) brokenRules(data map[string]any, composed *Composed, below string) []fleet.Problem {
	var problems []fleet.Problem
	for _, b := range s.rules.Check(data) {
		path := below
		for _, step := range b.Path {
			path = Join(path, step)
		}
		problems = append(problems, s.problem(composed.place(path, s.at), fmt.Sprintf("%s: %s", cmp.Or(path, "the values"), b.Message)))
	}
	return fleet.SortProblems(problems)
}

func (s *Schema) problem(at fleet.Position, message string) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindConfigValue, Position: at,
		Message: message, Hint: "as the schema " + s.at.File + " requires",
	}
}

// place returns the origin of the value at a path, or of its nearest parent. If there is none, it returns otherwise.
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

// steps returns the keys of a path that Join created.
func steps(path string) []string {
	var all []string
	for path != "" {
		if quoted, err := strconv.QuotedPrefix(path); err == nil {
			key, _ := strconv.Unquote(quoted) // quoted by Join
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
