package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

const fieldsFile = "testdata/json-fields.txt"

// TestFieldsOfJSON shows what each command prints with -o json, and the fields of each type. -update writes the file: who reviews its difference
// sees what is new, and that a field which is gone or has another type changes schedule.OutputVersion.
func TestFieldsOfJSON(t *testing.T) {
	t.Parallel()
	got := fmt.Sprintf("version %d\n%s\n", schedule.OutputVersion, strings.Join(slices.Sorted(maps.Keys(jsonFields(t))), "\n"))
	if update.Get().(bool) {
		if err := os.WriteFile(fieldsFile, []byte(got), 0o644); err != nil { //nolint:gosec // test data
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(fieldsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("run the test with -update, and change the version if a field is gone (-was +is):\n%s", diff)
	}
}

// jsonFields returns a line for each command and for each field.
func jsonFields(t *testing.T) map[string]bool {
	t.Helper()
	lines := map[string]bool{}
	eachCommand(newRoot(testTerminal()), func(cmd *cobra.Command, path string) {
		if len(cli.Results(cmd)) == 0 {
			return
		}
		text, err := schemaOf(cmd)
		if err != nil {
			t.Fatalf("kalypso %s: %v", path, err)
		}
		var document struct {
			jsonType
			Defs map[string]jsonType `json:"$defs"`
		}
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatalf("kalypso %s: %v", path, err)
		}
		lines["kalypso "+path+" prints "+document.name()] = true
		for name, def := range document.Defs {
			for field, value := range def.Properties {
				line := name + "." + field + " " + value.name()
				if slices.Contains(def.Required, field) {
					line += ", always"
				}
				lines[line] = true
			}
		}
	})
	return lines
}

// jsonType is a JSON Schema, as far as it names types.
type jsonType struct {
	Ref        string              `json:"$ref"`
	Type       any                 `json:"type"`
	Items      *jsonType           `json:"items"`
	Values     json.RawMessage     `json:"additionalProperties"`
	Properties map[string]jsonType `json:"properties"`
	Required   []string            `json:"required"`
	AnyOf      []jsonType          `json:"anyOf"`
}

// name returns the name of a type, such as string, []Problem or map of string.
func (s jsonType) name() string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case len(s.AnyOf) > 0:
		var names []string
		for _, each := range s.AnyOf {
			names = append(names, each.name())
		}
		return strings.Join(names, " or ")
	case s.Items != nil:
		return "[]" + s.Items.name()
	}
	var values jsonType
	if json.Unmarshal(s.Values, &values) == nil && (values.Ref != "" || values.Type != nil) {
		return "map of " + values.name()
	}
	return strings.Trim(fmt.Sprint(s.Type), "[]")
}
