package forgetest

import (
	"fmt"
	"strconv"
	"strings"
)

// Published is the part of a forge's published API description that an adapter and its fake use. Without it, a fake would repeat
// the adapter's errors. Its text has one statement per line; lines that begin with four spaces continue the previous one:
//
//	# A comment.
//	root /api/v1                                Precedes the paths of the operations that follow.
//	shape user {id integer, login string?}      A name for a shape.
//	error {message string}                      The body of refusals: of statuses from 400 on.
//	refused 203                                 Another status of refusals, with any body.
//	GET /repos/{owner}/{repo}/pulls             An operation. {x} is one segment of a path, {x...} the rest.
//	  query {state (open|closed), page integer} Its parameters.
//	  body {title string!}                      Its request body; fields with ! are required.
//	  200 [{number integer, user user}]         A successful answer.
//	  204                                       One without a body.
//
// A shape is string, integer, number, boolean, any, an enumeration in parentheses, a list in brackets, an object in braces or a name.
// The field * allows any further name. A ? allows null.
type Published struct {
	shapes     map[string]*shape
	operations []*operation
	roots      []string
	refusal    *shape
	refused    []int
}

// operation is a request that the description documents.
type operation struct {
	method, path string
	segments     []string
	query, body  *shape
	answers      map[int]*shape
}

// shape is the shape of a JSON value.
type shape struct {
	kind     string // "object", "list", "enum", "name", or the JSON type
	name     string // of a named shape
	values   []string
	element  *shape
	fields   map[string]*shape
	nullable bool
	required bool
}

// ParsePublished parses a description.
func ParsePublished(text string) (*Published, error) {
	p := &Published{shapes: map[string]*shape{}}
	var root string
	for number, statement := range statements(text) {
		word, rest, _ := strings.Cut(statement, " ")
		var err error
		switch {
		case word == "root":
			root = strings.TrimSpace(rest)
			p.roots = append(p.roots, root)
		case strings.HasPrefix(statement, "  "):
			err = p.detail(strings.TrimSpace(statement))
		case word == "shape":
			name, of, _ := strings.Cut(rest, " ")
			p.shapes[name], err = parseShape(of)
		case word == "error":
			p.refusal, err = parseShape(rest)
		case word == "refused":
			var status int
			status, err = strconv.Atoi(rest)
			p.refused = append(p.refused, status)
		default:
			path := root + strings.TrimSpace(rest)
			p.operations = append(p.operations, &operation{
				method: word, path: path, segments: strings.Split(path, "/"), answers: map[int]*shape{},
			})
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return p, p.complete()
}

// statements yields the statements of a text, with the number of the line on which each ends.
func statements(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		var statement string
		lines := strings.Split(text, "\n")
		for i, line := range append(lines, "end") {
			line = strings.TrimRight(line, " ")
			switch {
			case line == "" || strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "    "):
				statement += " " + strings.TrimSpace(line)
			default:
				if statement != "" && !yield(i, statement) {
					return
				}
				statement = line
			}
		}
	}
}

// detail parses what is said of the latest operation.
func (p *Published) detail(statement string) error {
	if len(p.operations) == 0 {
		return fmt.Errorf("%q describes no operation", statement)
	}
	o := p.operations[len(p.operations)-1]
	word, rest, _ := strings.Cut(statement, " ")
	var described *shape
	if rest != "" {
		var err error
		if described, err = parseShape(rest); err != nil {
			return err
		}
	}
	switch word {
	case "query":
		o.query = described
	case "body":
		o.body = described
	default:
		status, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("%q is not a status", word)
		}
		o.answers[status] = described
	}
	return nil
}

// complete checks that each name that a shape uses exists.
func (p *Published) complete() error {
	var visit func(s *shape) error
	visit = func(s *shape) error {
		if s == nil {
			return nil
		}
		if s.kind == "name" && p.shapes[s.name] == nil {
			return fmt.Errorf("the shape %s does not exist", s.name)
		}
		for _, f := range s.fields {
			if err := visit(f); err != nil {
				return err
			}
		}
		return visit(s.element)
	}
	all := []*shape{p.refusal}
	for _, s := range p.shapes {
		all = append(all, s)
	}
	for _, o := range p.operations {
		all = append(all, o.query, o.body)
		for _, s := range o.answers {
			all = append(all, s)
		}
	}
	for _, s := range all {
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}

// parseShape parses a shape.
func parseShape(text string) (*shape, error) {
	for _, sign := range "{}[]()|,?!" {
		text = strings.ReplaceAll(text, string(sign), " "+string(sign)+" ")
	}
	tokens := &tokens{strings.Fields(text)}
	s, err := tokens.shape()
	if err == nil && len(tokens.rest) > 0 {
		err = fmt.Errorf("%q follows a shape", tokens.rest)
	}
	return s, err
}

type tokens struct{ rest []string }

func (t *tokens) next() string {
	if len(t.rest) == 0 {
		return ""
	}
	token := t.rest[0]
	t.rest = t.rest[1:]
	return token
}

func (t *tokens) skip(token string) bool {
	if len(t.rest) == 0 || t.rest[0] != token {
		return false
	}
	t.rest = t.rest[1:]
	return true
}

func (t *tokens) shape() (*shape, error) {
	s := &shape{}
	var err error
	switch token := t.next(); token {
	case "{":
		s.kind, s.fields = "object", map[string]*shape{}
		for err == nil && !t.skip("}") {
			name := t.next()
			if name == "" {
				return nil, fmt.Errorf("an object does not end")
			}
			s.fields[name], err = t.shape()
			t.skip(",")
		}
	case "[":
		s.kind = "list"
		if s.element, err = t.shape(); err == nil && !t.skip("]") {
			err = fmt.Errorf("a list does not end")
		}
	case "(":
		s.kind = "enum"
		for !t.skip(")") {
			value := t.next()
			if value == "" {
				return nil, fmt.Errorf("an enumeration does not end")
			}
			s.values = append(s.values, value)
			t.skip("|")
		}
	case "string", "integer", "number", "boolean", "any":
		s.kind = token
	case "", "}", "]", ")", "|", ",", "?", "!":
		return nil, fmt.Errorf("%q is not a shape", token)
	default:
		s.kind, s.name = "name", token
	}
	s.nullable = t.skip("?")
	s.required = t.skip("!")
	return s, err
}
