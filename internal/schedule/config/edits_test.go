package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet/editing"
)

// TestCheckEdits refuses every way to change a value that has editors.
func TestCheckEdits(t *testing.T) {
	const schema = `{properties: {DB: {properties: {password: {editableBy: [dba]}}}, RULES: {editableBy: [dba]}}}`
	for name, c := range map[string]struct {
		before, after string
		want          string // empty if it is allowed
	}{
		"beside it":                  {`{DB: {password: a, host: x}}`, `{DB: {password: a, host: y}}`, ""},
		"changed":                    {`{DB: {password: a}}`, `{DB: {password: b}}`, "DB.password is changed here"},
		"behind a key with its name": {`{DB: {password: a}}`, `{DB: {password: b}, DB.password: a}`, "DB.password is changed here"},
		"a text over the map":        {`{OTHER: x}`, `{OTHER: x, DB: none}`, "DB is added here, but DB.password in it is editable by dba only"},
		"an expression over it":      {`{OTHER: x}`, `{OTHER: x, DB: "{{ .ClusterType }}"}`, "DB is added here, but DB.password in it"},
		"another order":              {`{RULES: [{name: a, allow: x}, {name: b, deny: y}]}`, `{RULES: [{name: b, deny: y}, {name: a, allow: x}]}`, "RULES is changed here"},
		"an order that is free":      {`{FREE: [{name: a}, {name: b}]}`, `{FREE: [{name: b}, {name: a}]}`, ""},
		"a boolean of YAML 1.1":      {`{RULES: [{name: a, allow: "on"}]}`, `{RULES: [{name: a, allow: on}]}`, "RULES[a].allow is changed here"},
		"replaced as a whole":        {`replace {OTHER: x}`, `replace {OTHER: x, DB: {host: y}}`, "DB is added here, but DB.password in it"},
		"replaced already":           {`replace {DB: {host: x}}`, `replace {DB: {host: y}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := checkEdits(t, [2]string{schema, c.before}, [2]string{schema, c.after}); got == "" != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestCheckEditsOfRights refuses to take away a right for values that a schema does not name.
func TestCheckEditsOfRights(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		want          bool
	}{
		"another pattern":         {`{patternProperties: {"^DB_": {editableBy: [dba]}}}`, `{patternProperties: {"^NOTHING_": {editableBy: [dba]}}}`, true},
		"patterns that exchange":  {`{patternProperties: {"^A": {editableBy: [dba]}, "^B": {editableBy: [web]}}}`, `{patternProperties: {"^A": {editableBy: [web]}, "^B": {editableBy: [dba]}}}`, true},
		"a property of its own":   {`{additionalProperties: {editableBy: [dba]}}`, `{additionalProperties: {editableBy: [dba]}, properties: {DB_URL: {type: string}}}`, true},
		"a pattern beside others": {`{additionalProperties: {editableBy: [dba]}}`, `{additionalProperties: {editableBy: [dba]}, patternProperties: {"^DB_": {}}}`, true},
		"a property beside":       {`{patternProperties: {"^DB_": {editableBy: [dba]}}}`, `{patternProperties: {"^DB_": {editableBy: [dba]}}, properties: {OTHER: {}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			const values = `{OTHER: x}`
			got := checkEdits(t, [2]string{c.before, values}, [2]string{c.after, values})
			if strings.Contains(got, "the change takes away") != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// checkEdits returns what ben may not change from one schema and ConfigMap to others. A ConfigMap begins with "replace" to replace others.
func checkEdits(t *testing.T, before, after [2]string) string {
	t.Helper()
	files := func(written [2]string) map[string]string {
		values, replaces := strings.CutPrefix(written[1], "replace ")
		how := "merge"
		if replaces {
			how = "replace"
		}
		return map[string]string{
			"schema.yaml": "kind: ConfigSchema\nmetadata: {name: shop}\nspec:\n  schema: " + written[0],
			"config.yaml": "kind: ConfigMap\nmetadata: {name: config, annotations: {kalypso.io/merge: " + how + "}}\ndata: " + values,
		}
	}
	var all []string
	for _, p := range CheckEdits(editing.Author{Name: "ben"}, snapshotOf(t, files(before)), snapshotOf(t, files(after)), "dev") {
		all = append(all, fmt.Sprint(p.Message))
	}
	return strings.Join(all, "\n")
}
