package hellofleet

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// What an editor would underline is wrong in an example.
func TestDocumentsSatisfyTheirSchemas(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	checked := 0
	for path, content := range contents(t, Files(), ".") {
		var doc map[string]any
		if err := yaml.Unmarshal(content, &doc); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if doc["apiVersion"] != "scheduler.kalypso.io/v1alpha1" {
			continue
		}
		file := strings.ToLower(doc["kind"].(string)) + ".json"
		schema, err := compiler.Compile(filepath.Join("..", "..", "docs", "schemas", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		checked++
	}
	if checked < 20 {
		t.Errorf("checked %d documents, want those of the whole fleet", checked)
	}
}

// contents returns the YAML files below a folder, by their path from there.
func contents(t *testing.T, fsys fs.FS, root string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(fsys, root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		files[strings.TrimPrefix(path, root+"/")], err = fs.ReadFile(fsys, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
