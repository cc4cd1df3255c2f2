package schemas_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// path parses "hosts[].port".
func path(text string) []schemas.Step {
	var steps []schemas.Step
	for part := range strings.SplitSeq(text, ".") {
		name, item := strings.CutSuffix(part, "[]")
		steps = append(steps, schemas.Step{Field: name})
		if item {
			steps = append(steps, schemas.Step{Item: true})
		}
	}
	return steps
}

// TestEditors finds the declaration that is closest to a value, through everything that applies to it.
func TestEditors(t *testing.T) {
	const schema = `{
		"editableBy": ["all", "web"],
		"properties": {
			"url": {"editableBy": ["dba", "all"]},
			"db": {"$ref": "#/$defs/db"},
			"hosts": {"items": {"properties": {"port": {"editableBy": ["net"]}}}},
			"both": {"allOf": [{"editableBy": ["a", "b"]}, {"editableBy": ["b", "c"]}]},
			"none": {"editableBy": ["a"], "anyOf": [{"editableBy": ["b"]}]}
		},
		"patternProperties": {"^x-": {"editableBy": ["extensions"]}},
		"additionalProperties": {"editableBy": ["others"]},
		"$defs": {"db": {"properties": {"user": {"editableBy": ["dba"]}, "next": {"$ref": "#/$defs/db"}}}}
	}`
	rights := rightsOf(t, schema)
	for at, want := range map[string]string{
		"url": "[all dba] true", "db.user": "[dba] true", "db.next.next.user": "[dba] true", "db.name": "[all web] true",
		"hosts[].port": "[net] true", "hosts[].name": "[all web] true", "both": "[b] true", "none": "[] true",
		"x-a": "[extensions] true", "other": "[others] true", "other.below": "[others] true",
	} {
		names, restricted, err := rights.Editors(path(at))
		if got := fmt.Sprint(names, " ", restricted); got != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", at, got, err, want)
		}
	}
	declared, err := rights.Declarations(path("db"))
	if len(declared) != 1 || schemas.PathText(declared[0].Path) != "db.user" || err != nil {
		t.Errorf("below db: %v, %v", declared, err)
	}
}

func rightsOf(t *testing.T, schema string) *schemas.Rights {
	t.Helper()
	var document any
	if err := json.Unmarshal([]byte(schema), &document); err != nil {
		t.Fatal(err)
	}
	compiled, err := schemas.Compile(document, schemas.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return schemas.NewRights(compiled)
}

// TestEditorsAreBounded for schemas that repeat themselves.
func TestEditorsAreBounded(t *testing.T) {
	var defs []string
	for i := range 40 { // each refers to the next one twice: 2^40 paths
		defs = append(defs, fmt.Sprintf(`"d%d": {"properties": {"a": {"$ref": "#/$defs/d%d"}, "b": {"$ref": "#/$defs/d%d"}}}`, i, i+1, i+1))
	}
	rights := rightsOf(t, `{"$ref": "#/$defs/d0", "$defs": {`+strings.Join(defs, ",")+`, "d40": {"editableBy": ["x"]}}}`)
	if _, err := rights.Declarations(nil); err != schemas.ErrEditSteps { //nolint:errorlint // it is not wrapped
		t.Errorf("got %v", err)
	}
}

func TestEditableByIsChecked(t *testing.T) {
	for schema, want := range map[string]string{
		`{"editableBy": "dba"}`:                      `must be a list of 1 to 100 users and groups, got "dba"`,
		`{"editableBy": []}`:                         "must be a list of 1 to 100",
		`{"properties": {"a": {"editableBy": [1]}}}`: "1, which is not the name",
		`{"$schema": "http://json-schema.org/draft-07/schema#", "items": {"editableBy": [" dba"]}}`: "not the name",
	} {
		var document any
		if err := json.Unmarshal([]byte(schema), &document); err != nil {
			t.Fatal(err)
		}
		if _, err := schemas.Compile(document, schemas.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", schema, err, want)
		}
	}
	rightsOf(t, `{"properties": {"editableBy": {"type": "string"}}, "default": {"editableBy": 1}}`) // a property of that name
}
