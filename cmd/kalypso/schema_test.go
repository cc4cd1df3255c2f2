package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
)

// checkResult checks the exit code of a command line, and with -o json each document that it printed. A failed command may print none.
func checkResult(args []string, code int, printed []byte) error {
	if !slices.ContainsFunc(cli.ExitCodes(), func(e cli.ExitMeaning) bool { return int(e.Code) == code }) {
		return fmt.Errorf("exit code %d is not in the table", code)
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "__") {
		return nil // completes words
	}
	cmd, rest, err := newRoot(testTerminal()).Find(args)
	if err != nil || len(cli.Results(cmd)) == 0 || cmd.ParseFlags(rest) != nil || cmd.Flags().Lookup("output").Value.String() != cli.FormatJSON {
		return nil //nolint:nilerr // nothing was printed as JSON
	}
	if help, _ := cmd.Flags().GetBool("help"); help {
		return nil
	}
	schema, err := compiledSchema(cmd)
	if err != nil {
		return err
	}
	for decoder := json.NewDecoder(bytes.NewReader(printed)); ; {
		var document json.RawMessage
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", cmd.CommandPath(), err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			return fmt.Errorf("%s prints what its schema does not allow: %w", cmd.CommandPath(), err)
		}
	}
}

// compiledSchema returns the schema of a command's results. It is stricter than what users get: each field has to be described.
func compiledSchema(cmd *cobra.Command) (*jsonschema.Schema, error) {
	text, err := schemaOf(cmd)
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defs, _ := document.(map[string]any)["$defs"].(map[string]any)
	for _, def := range defs {
		if object := def.(map[string]any); object["properties"] != nil {
			object["additionalProperties"] = false
		}
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:result", document); err != nil {
		return nil, err
	}
	return c.Compile("urn:result")
}

// TestEveryCommandHasJSONOrAReason: programs can read each command, or the reference says why not.
func TestEveryCommandHasJSONOrAReason(t *testing.T) {
	t.Parallel()
	reasons := withoutJSON()
	eachCommand(newRoot(testTerminal()), func(cmd *cobra.Command, path string) {
		group, _, _ := strings.Cut(path, " ")
		if len(cli.Results(cmd)) == 0 {
			if reasonWithoutJSON(path) == "" {
				t.Errorf("kalypso %s has neither -o json with a schema nor a reason", path)
			}
			delete(reasons, path)
			delete(reasons, group)
			return
		}
		if withoutJSON()[path] != "" {
			t.Errorf("kalypso %s has -o json, and a reason for not having it", path)
		}
		if _, err := compiledSchema(cmd); err != nil {
			t.Errorf("the schema of kalypso %s: %v", path, err)
		}
	})
	for path := range reasons {
		if path != "help" && path != "man" && path != "docs" {
			t.Errorf("there is a reason for kalypso %s, which does not exist", path)
		}
	}
}

// TestSchemasRefuse: a schema is not so wide that it allows everything.
func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	for line, printed := range map[string]string{
		"plan -e dev -o json":                     `{"version": 1, "environment": "dev", "assignments": "none"}`,
		"status -o json":                          `{"items": [{"name": 7}]}`,
		"schedule --commit -ojson":                `{}`,
		"import workload-orchestration x -o json": `{"files": [], "problems": [], "other": 1}`,
	} {
		if err := checkResult(strings.Fields(line), 0, []byte(printed)); err == nil {
			t.Errorf("%s: %s is allowed", line, printed)
		}
	}
	if err := checkResult([]string{"plan"}, 4, nil); err == nil {
		t.Error("exit code 4 is allowed")
	}
}
