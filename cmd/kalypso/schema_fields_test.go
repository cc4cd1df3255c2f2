package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

const fieldsFile = "testdata/json-fields.txt"

// TestFieldsOfJSONStay: a field of -o json is removed or gets another type only with a new version of the format. The file lists what each
// command prints and the fields of each type; -update adds new ones.
func TestFieldsOfJSONStay(t *testing.T) {
	t.Parallel()
	now := jsonFields(t)
	text, err := os.ReadFile(fieldsFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	version := fmt.Sprintf("version %d", schedule.OutputVersion)
	before, was, _ := strings.Cut(string(text), "\n")
	if before == version {
		for line := range strings.Lines(was) {
			if line = strings.TrimSpace(line); !now[line] {
				t.Errorf("%q was removed or changed: users read it until schedule.OutputVersion changes", line)
			}
		}
	}
	want := version + "\n" + strings.Join(slices.Sorted(maps.Keys(now)), "\n") + "\n"
	if t.Failed() || bytes.Equal(text, []byte(want)) {
		return
	}
	if !update.Get().(bool) {
		t.Fatalf("there are fields that %s does not have: run the test with -update", fieldsFile)
	}
	if err := os.WriteFile(fieldsFile, []byte(want), 0o644); err != nil { //nolint:gosec // test data
		t.Fatal(err)
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
