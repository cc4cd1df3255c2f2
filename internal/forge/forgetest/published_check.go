package forgetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Exchange is a request to a forge and its answer.
type Exchange struct {
	Method string `json:"method"`
	// Path is escaped.
	Path     string          `json:"path"`
	Query    url.Values      `json:"query,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"`
	Status   int             `json:"status"`
	Response json.RawMessage `json:"response,omitempty"`
}

// Check returns what of an exchange is not as the description says: an unknown operation, parameter, field or status, or a value of
// another type. Answers can have unknown fields if the forge is a real one, since the description is only a part.
func (p *Published) Check(e Exchange, real bool) []string {
	o := p.operation(e)
	if o == nil {
		return []string{fmt.Sprintf("%s %s is not documented", e.Method, e.Path)}
	}
	c := &checker{published: p, at: o.method + " " + o.path}
	c.query(o, e.Query)
	c.body(o, e.Body)
	c.answer(o, e, real)
	return c.problems
}

// Concerns reports whether a path belongs to the API.
func (p *Published) Concerns(path string) bool {
	return slices.ContainsFunc(p.roots, func(root string) bool { return strings.HasPrefix(path, root+"/") })
}

// operation finds an exchange's operation: the one with the most fixed segments, if several match.
func (p *Published) operation(e Exchange) *operation {
	segments := strings.Split(e.Path, "/")
	var best *operation
	most := -1
	for _, o := range p.operations {
		if fixed, ok := o.matches(segments); ok && o.method == e.Method && fixed > most {
			best, most = o, fixed
		}
	}
	return best
}

// matches reports whether the segments of a path match, and how many of them are fixed. Case does not matter.
func (o *operation) matches(path []string) (fixed int, ok bool) {
	for i, s := range o.segments {
		switch {
		case strings.HasSuffix(s, "...}"):
			return fixed, len(path) > i
		case i >= len(path):
			return 0, false
		case strings.HasPrefix(s, "{"):
			if path[i] == "" {
				return 0, false
			}
		case strings.EqualFold(s, path[i]):
			fixed++
		default:
			return 0, false
		}
	}
	return fixed, len(path) == len(o.segments)
}

// checker collects the problems of an exchange.
type checker struct {
	published *Published
	at        string
	problems  []string
	// lenient allows fields that are not described.
	lenient bool
}

func (c *checker) say(where, format string, args ...any) {
	c.problems = append(c.problems, c.at+": "+where+": "+fmt.Sprintf(format, args...))
}

func (c *checker) query(o *operation, query url.Values) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		var s *shape
		if o.query != nil {
			s = o.query.fields[name]
		}
		if s == nil {
			c.say("query", "%s is not documented", name)
			continue
		}
		for _, value := range query[name] {
			c.value("query "+name, s, parameter(s, value))
		}
	}
}

// parameter returns the value of a parameter as JSON would hold it.
func parameter(s *shape, value string) any {
	switch s.kind {
	case "integer", "number":
		if _, err := strconv.Atoi(value); err == nil {
			return json.Number(value)
		}
	case "boolean":
		if yes, err := strconv.ParseBool(value); err == nil {
			return yes
		}
	}
	return value
}

func (c *checker) body(o *operation, body []byte) {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		if o.body != nil && slices.ContainsFunc(slices.Collect(maps.Values(o.body.fields)), func(s *shape) bool { return s.required }) {
			c.say("body", "is missing")
		}
	case o.body == nil:
		c.say("body", "is not documented: %s", body)
	default:
		c.json("body", o.body, body)
	}
}

func (c *checker) answer(o *operation, e Exchange, real bool) {
	where := strconv.Itoa(e.Status)
	documented, known := o.answers[e.Status]
	empty := len(bytes.TrimSpace(e.Response)) == 0
	c.lenient = real
	switch {
	case slices.Contains(c.published.refused, e.Status):
	case e.Status >= 400 && !known:
		if !empty && c.published.refusal != nil {
			c.json(where, c.published.refusal, e.Response)
		}
	case !known:
		c.say(where, "the status is not documented")
	case documented == nil:
		if !empty && !real {
			c.say(where, "the answer has a body: %s", e.Response)
		}
	case empty:
		c.say(where, "the answer has no body")
	default:
		c.json(where, documented, e.Response)
	}
}

func (c *checker) json(where string, s *shape, text []byte) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		c.say(where, "is not JSON")
		return
	}
	c.value(where, s, value)
}

// value checks a value against a shape.
func (c *checker) value(where string, s *shape, value any) {
	nullable := s.nullable
	for s.kind == "name" {
		s = c.published.shapes[s.name]
		nullable = nullable || s.nullable
	}
	if s.kind == "any" || value == nil && nullable {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		if s.kind == "object" {
			c.object(where, s, v)
			return
		}
	case []any:
		if s.kind == "list" {
			for _, element := range v {
				c.value(where+"[]", s.element, element)
			}
			return
		}
	case string:
		if s.kind == "string" || s.kind == "enum" && slices.Contains(s.values, v) {
			return
		}
	case bool:
		if s.kind == "boolean" {
			return
		}
	case json.Number:
		if _, err := v.Int64(); s.kind == "number" || s.kind == "integer" && err == nil {
			return
		}
	}
	c.say(where, "%v is not %s", value, s)
}

func (c *checker) object(where string, s *shape, value map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(value)) {
		f := s.fields[name]
		if f == nil {
			f = s.fields["*"]
		}
		switch {
		case f != nil:
			c.value(where+"."+name, f, value[name])
		case !c.lenient:
			c.say(where, "%s is not documented", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		if _, ok := value[name]; s.fields[name].required && !ok {
			c.say(where, "%s is missing", name)
		}
	}
}

// String returns the shape's kind, as errors name it.
func (s *shape) String() string {
	if s.kind == "enum" {
		return "one of " + strings.Join(s.values, ", ")
	}
	return "a " + s.kind
}
