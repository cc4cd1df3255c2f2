package api_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// editor checks documents with the JSON Schemas that editors use: that of the kind, and that of all kinds.
type editor struct {
	byKind   map[string]*jsonschema.Schema
	together *jsonschema.Schema
}

func loadEditor(t *testing.T) editor {
	t.Helper()
	paths, err := filepath.Glob("../docs/schemas/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no schemas found: %v", err)
	}
	e := editor{byKind: map[string]*jsonschema.Schema{}}
	for _, path := range paths {
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		schema, err := compiler.Compile(path)
		if err != nil {
			t.Fatal(err)
		}
		kind := strings.TrimSuffix(filepath.Base(path), ".json")
		if kind == "kalypso" {
			e.together = schema
			continue
		}
		e.byKind[kind] = schema
	}
	return e
}

// check returns the errors that an editor shows. Both schemas must agree.
func (e editor) check(t *testing.T, doc map[string]any) []string {
	t.Helper()
	file := strings.ToLower(kindOf(doc))
	if file == "cluster" && strings.HasPrefix(groupKindOf(doc), "hub.") {
		file = "hubcluster"
	}
	schema, ok := e.byKind[file]
	if !ok {
		return []string{"no schema of this kind"}
	}
	err := schema.Validate(doc)
	if together := e.together.Validate(doc); (err == nil) != (together == nil) {
		t.Errorf("%s: the schema of the kind says %v, kalypso.json says %v", name(doc), err, together)
	}
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return slices.Compact(leaves(invalid))
	}
	return nil
}

// leaves returns the innermost errors, each with its location in the document.
func leaves(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		if k, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
			slices.Sort(k.Properties) // they come from a map
		}
		printer := message.NewPrinter(language.English)
		return []string{"/" + strings.Join(e.InstanceLocation, "/") + ": " + e.ErrorKind.LocalizedString(printer)}
	}
	var found []string
	for _, cause := range e.Causes {
		found = append(found, leaves(cause)...)
	}
	slices.Sort(found)
	return found
}

// TestTogetherKnowsItsLimits checks that documents of other groups pass, and unknown kinds of our groups do not.
func TestTogetherKnowsItsLimits(t *testing.T) {
	e := loadEditor(t)
	for _, tc := range []struct {
		doc    map[string]any
		passes bool
	}{
		{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"A": "1"}}, true},
		{map[string]any{"some": "values of a chart"}, true},
		{map[string]any{"apiVersion": "scheduler.kalypso.io/v1alpha1", "kind": "WorkLoad"}, false},
		{map[string]any{"apiVersion": "scheduler.kalypso.io/v1alpha1"}, false},
	} {
		if err := e.together.Validate(tc.doc); (err == nil) != tc.passes {
			t.Errorf("%v: got %v, want passes=%v", tc.doc, err, tc.passes)
		}
	}
}
