package api

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// definitionPrefix is the path of schemas in a document of [JSONSchema].
const definitionPrefix = "#/$defs/"

// JSONSchema returns a JSON Schema (draft 2020-12) of documents that have one of some types, with the comments that the types have in the
// description of the API. Like there, properties that are not described are allowed.
func JSONSchema(title string, types ...reflect.Type) ([]byte, error) {
	all := map[string]string{}
	if err := json.Unmarshal(comments, &all); err != nil {
		return nil, fmt.Errorf("read the comments of the API: %w", err)
	}
	named := map[string]reflect.Type{}
	registry := huma.NewMapRegistry(definitionPrefix, func(t reflect.Type, hint string) string {
		name := schemaName(t, hint)
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return name
		}
		if other, taken := named[name]; taken && other != t {
			name = packageOf(t) + "." + name
		}
		named[name] = t
		return name
	})
	aliases(registry)
	var documents []*huma.Schema
	for _, t := range types {
		documents = append(documents, registry.Schema(t, true, ""))
	}
	for name, schema := range registry.Map() {
		explain(schema, registry.TypeFromRef(definitionPrefix+name), all)
		loosen(schema)
	}
	document := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "$defs": registry.Map(),
	}
	if len(documents) == 1 {
		document["$ref"] = documents[0].Ref
	} else {
		document["anyOf"] = documents
	}
	return json.MarshalIndent(document, "", "  ")
}
