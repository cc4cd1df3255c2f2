package assistant

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxSchemaDepth is how deep the schema of an answer goes; what is below can be anything.
const maxSchemaDepth = 8

// schema is a JSON Schema.
type schema = map[string]any

// answerSchema returns the schema of [answer] with a value of a type. It follows encoding/json, and says nothing of types with an encoding
// of their own. No field of the value is required, because shortened answers lack some.
func answerSchema(of reflect.Type) *jsonschema.Schema {
	if known, ok := answerSchemas.Load(of); ok {
		return known.(*jsonschema.Schema)
	}
	made := new(jsonschema.Schema)
	text, err := json.Marshal(schema{"type": "object", "required": []string{"answer"}, "properties": schema{
		"answer": schemaOf(of, maxSchemaDepth), "shortened": schema{"type": "string", "description": "what was left out, because the answer was too large"},
	}})
	if err := cmp.Or(err, json.Unmarshal(text, made)); err != nil {
		panic(err) // cannot happen: it depends on types of this program only
	}
	known, _ := answerSchemas.LoadOrStore(of, made)
	return known.(*jsonschema.Schema)
}

// answerSchemas has the schema of each type of answer. [mcp.SchemaCache] knows a schema by its address, and each request needs all of them.
var answerSchemas sync.Map

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// encodesItself reports whether a type has an encoding of its own.
func encodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Implements(jsonMarshaler) || t.Implements(textMarshaler) || p.Implements(jsonMarshaler) || p.Implements(textMarshaler)
}

func schemaOf(t reflect.Type, depth int) schema {
	if depth == 0 || encodesItself(t) {
		return schema{}
	}
	switch t.Kind() {
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return schema{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return schema{} // base64
		}
		return schema{"type": []string{"array", "null"}, "items": schemaOf(t.Elem(), depth-1)}
	case reflect.Map:
		return schema{"type": []string{"object", "null"}, "additionalProperties": schemaOf(t.Elem(), depth-1)}
	case reflect.Pointer:
		below := schemaOf(t.Elem(), depth)
		if one, ok := below["type"].(string); ok {
			below["type"] = []string{one, "null"}
		}
		return below
	case reflect.Struct:
		fields := schema{}
		addFields(fields, t, depth)
		return schema{"type": "object", "properties": fields}
	}
	return schema{}
}

// addFields adds the schemas of a struct's fields, and then those of embedded ones, unless they are there.
func addFields(to schema, t reflect.Type, depth int) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct && !encodesItself(inner):
			embedded = append(embedded, inner)
		case strings.Contains(options, "string"):
			to[name] = schema{}
		default:
			to[cmp.Or(name, f.Name)] = schemaOf(f.Type, depth-1)
		}
	}
	for _, e := range embedded {
		below := schema{}
		addFields(below, e, depth)
		for name, s := range below {
			if _, there := to[name]; !there {
				to[name] = s
			}
		}
	}
}
