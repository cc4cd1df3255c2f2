package schemas_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

func fieldsOf(t *testing.T, document string) ([]schemas.Field, bool, error) {
	t.Helper()
	var plain any
	if err := json.Unmarshal([]byte(document), &plain); err != nil {
		t.Fatal(err)
	}
	compiled, err := schemas.Compile(plain, schemas.Options{Formats: true})
	if err != nil {
		t.Fatal(err)
	}
	return schemas.Fields(compiled)
}

func TestFieldsSayWhatAUserMustKnow(t *testing.T) {
	fields, more, err := fieldsOf(t, `{
		"required": ["replicas", "image"],
		"properties": {
			"replicas": {"$ref": "#/$defs/count", "title": "Replicas", "editableBy": ["sre"]},
			"level": {"enum": ["debug", "info"], "default": "info", "description": "What is logged."},
			"image": {"required": ["tag"], "properties": {"tag": {"type": "string", "pattern": "^v"}, "pull.policy": {"type": ["string", "null"]}}},
			"logs": {"required": ["to"], "properties": {"to": {"type": "string", "format": "email"}}},
			"password": {"type": "string", "writeOnly": true},
			"version": {"const": 2, "readOnly": true},
			"hosts": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}
		},
		"anyOf": [{"properties": {"other": {"type": "integer", "minimum": 3}}}],
		"$defs": {"count": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9.5}}
	}`)
	if err != nil || more {
		t.Fatal(more, err)
	}
	var got []string
	for _, f := range fields {
		got = append(got, fmt.Sprintf("%s %q %v %v %v %v required=%v secret=%v fixed=%v", f.Key, f.Title+f.Help, f.Types, f.Allowed, f.Rules, f.Default, f.Required, f.Secret, f.ReadOnly))
	}
	want := []string{
		`hosts "" [array] [] [no element twice] <nil> required=false secret=false fixed=false`,
		`image."pull.policy" "" [null string] [] [] <nil> required=false secret=false fixed=false`,
		`image.tag "" [string] [] [matches ^v] <nil> required=true secret=false fixed=false`,
		`level "What is logged." [] [debug info] [] info required=false secret=false fixed=false`,
		`logs.to "" [string] [] [a valid email] <nil> required=false secret=false fixed=false`,
		`other "" [integer] [] [at least 3] <nil> required=false secret=false fixed=false`,
		`password "" [string] [] [] <nil> required=false secret=true fixed=false`,
		`replicas "Replicas" [integer] [] [at least 1 less than 9.5] <nil> required=true secret=false fixed=false`,
		`version "" [] [2] [] <nil> required=false secret=false fixed=true`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFieldsOfRecursiveAndHugeSchemas(t *testing.T) {
	fields, _, err := fieldsOf(t, `{"$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}, "name": {"type": "string"}}}}, "$ref": "#/$defs/n"}`)
	if err != nil || len(fields) != 2 || fields[1].Key != "next" {
		t.Errorf("got %v %v", fields, err)
	}
	var wide strings.Builder
	for i := range 600 {
		fmt.Fprintf(&wide, `"k%03d": {},`, i)
	}
	fields, more, err := fieldsOf(t, `{"properties": {`+strings.TrimSuffix(wide.String(), ",")+`}}`)
	if err != nil || len(fields) != 500 || !more {
		t.Errorf("got %d %v %v", len(fields), more, err)
	}
	var defs strings.Builder // each level has twice the fields of the one below
	for i := range 30 {
		fmt.Fprintf(&defs, `"d%d": {"properties": {"a": {"$ref": "#/$defs/d%d"}, "b": {"$ref": "#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	fields, more, err = fieldsOf(t, `{"$defs": {`+defs.String()+`"d30": {}}, "$ref": "#/$defs/d0"}`)
	if err != nil || len(fields) != 500 || !more {
		t.Errorf("got %d %v %v", len(fields), more, err)
	}
}
