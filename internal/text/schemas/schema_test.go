package schemas_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// TestCompileRefusesSchemas that refer to anything outside themselves, or that are too expensive to check.
func TestCompileRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"$ref": "file:///etc/hostname"}`: "is outside of the schema",
		`{"$dynamicRef": "#x"}`:            "is not supported",
		`{"maximum": 1e999999999}`:         "out of range",
		`{"required": "x"}`:                "required: must be a list",
		strings.Repeat(`{"not":`, 300) + "{}" + strings.Repeat("}", 300): "nested deeper",
	} {
		var document any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&document); err != nil {
			t.Fatal(err)
		}
		_, err := schemas.Compile(document, schemas.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: got %v, want %q on one line", text, err, want)
		}
	}
}

func Example() {
	schema, err := schemas.Compile(map[string]any{
		"properties":           map[string]any{"level": map[string]any{"enum": []any{"info", "debug"}}},
		"required":             []any{"port"},
		"additionalProperties": false,
	}, schemas.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var invalid *jsonschema.ValidationError
	if errors.As(schema.Validate(map[string]any{"level": "shout", "colour": "blue"}), &invalid) {
		for _, leaf := range schemas.Leaves(invalid) {
			fmt.Println(leaf.InstanceLocation, strings.Join(schemas.Requirements(leaf), "; or "))
		}
	}
	// Unordered output:
	// [] must have "port"
	// [] must not have "colour"
	// [level] must be "info" or "debug"
}
