package values_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

var update = flag.Bool("update", false, "rewrite the golden files of the cases")

// TestCases runs testdata/*.txtar: files with values and expressions, and perhaps a line "set", "vars" and a schema;
// golden are the composed values of each folder, the provenance, and the problems.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, files := map[string]string{}, map[string][]byte{}
			kept := archive.Files[:0]
			for _, f := range archive.Files {
				if name, golden := strings.CutPrefix(f.Name, "want/"); golden {
					want[name] = string(f.Data)
					continue
				}
				files[f.Name] = f.Data
				kept = append(kept, f)
			}
			got := run(t, files)
			if *update {
				archive.Files = kept
				for _, name := range []string{"values", "problems"} {
					for _, g := range got {
						if g.name == name || strings.HasPrefix(g.name, name+"/") {
							archive.Files = append(archive.Files, txtar.File{Name: "want/" + g.name, Data: []byte(g.text)})
						}
					}
				}
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			result := map[string]string{}
			for _, g := range got {
				result[g.name] = g.text
			}
			if diff := cmp.Diff(want, result); diff != "" {
				t.Errorf("-want +got; -update rewrites:\n%s", diff)
			}
		})
	}
}

type output struct{ name, text string }

func run(t *testing.T, files map[string][]byte) []output {
	t.Helper()
	var names []string
	layers := map[string]*values.Layer{}
	var problems []fleet.Problem
	for name, content := range files {
		if !values.IsLayer(name) {
			continue
		}
		names = append(names, name)
		layer, found := values.Parse("config", name, content)
		layers[name] = layer
		problems = append(problems, found...)
	}
	var out []output
	if len(problems) == 0 {
		for _, folder := range values.Folders(names) {
			composed, found := compose(t, folder, layers, files)
			problems = append(problems, found...)
			text, err := composed.YAML()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, output{"values/" + folder.Path, string(text)})
			if schema, ok := files["schema.json"]; ok {
				compiled, err := values.CompileSchema(fleet.Position{File: "schema.json"}, schema)
				if err != nil {
					problems = append(problems, fleet.Problem{Message: err.Error()})
					continue
				}
				problems = append(problems, compiled.Check(composed.Data, composed, "")...)
			}
		}
	}
	var b strings.Builder
	for _, p := range fleet.SortProblems(problems) {
		fmt.Fprintf(&b, "%s: %s: %s (%s)\n", p.Position, p.Kind, p.Message, p.Hint)
	}
	if b.Len() > 0 {
		out = append(out, output{"problems", b.String()})
	}
	return out
}

func compose(t *testing.T, folder values.Folder, layers map[string]*values.Layer, files map[string][]byte) (*values.Composed, []fleet.Problem) {
	t.Helper()
	var stack []*values.Layer
	for _, file := range folder.Files {
		stack = append(stack, layers[file])
	}
	if set, ok := files["set"]; ok {
		data := map[string]any{}
		if err := fleet.UnmarshalYAML(set, &data); err != nil {
			t.Fatal(err)
		}
		stack = append(stack, values.LayerOf("--set", data))
	}
	vars := values.Vars{}
	for line := range strings.Lines(string(files["vars"])) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		vars[name] = value
	}
	facts := values.Facts{
		Environment: "dev", Workload: "shop", Target: folder.Name(), Labels: map[string]string{"size": "large"},
		Levels: map[string]string{"region": strings.Split(folder.Path, "/")[0]},
	}
	return values.Compute(stack, vars, facts)
}
