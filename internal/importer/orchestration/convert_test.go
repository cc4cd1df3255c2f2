package orchestration_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/importer/orchestration"
)

var update = flag.Bool("update", false, "rewrite the golden files of the cases")

// TestCases runs testdata/*.txtar: files of the service; golden are the files that they become, and what is left out.
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
			files, want := map[string][]byte{}, map[string]string{}
			kept := archive.Files[:0]
			for _, f := range archive.Files {
				if name, golden := strings.CutPrefix(f.Name, "want/"); golden {
					want[name] = string(f.Data)
					continue
				}
				files[f.Name] = f.Data
				kept = append(kept, f)
			}
			got := map[string]string{}
			result := orchestration.Convert(files, orchestration.Options{Name: "shop", Environment: "dev"})
			for name, content := range result.Files {
				got[name] = string(content)
			}
			for _, p := range result.Problems {
				got["problems"] += fmt.Sprintf("%s %s: %s\n", p.Severity, p.Position, p.Message)
			}
			if *update {
				archive.Files = kept
				for _, name := range slices.Sorted(maps.Keys(got)) {
					archive.Files = append(archive.Files, txtar.File{Name: "want/" + name, Data: []byte(got[name])})
				}
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got; -update rewrites:\n%s", diff)
			}
		})
	}
}

// Expressions of any text are turned into one that can be used, or are listed, without a panic.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{
		"${{$val(a)}}", "${{ $if($gt($val(a), 5), 'x', \"y\") }}", "http://${{$property(host)}}:${{$val(port)}}", "${{$config(common/1.0.0, a.b)}}",
		"${{$and($not($empty($val(a))), $in($val(b), 1, 2.5))}}", "${{", "${{$val(}}", "${{1 + -2 * (3 - $val(x))}}", "${{$include(a)}}", "${{$val('')}}", "${{$val(a-b.c)}}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.Contains(text, "${{") || strings.ContainsAny(text, "\x00\r\n") {
			return
		}
		quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
		files := map[string][]byte{"t.yaml": []byte("configs:\n  key: " + quoted + "\nrules:\n  configs:\n    key: {expression: " + quoted + "}\n")}
		result := orchestration.Convert(files, orchestration.Options{Name: "shop", Environment: "dev"})
		for name, content := range result.Files {
			if !values.IsLayer(name) {
				continue
			}
			_, problems := values.Parse("", name, content)
			if len(problems) > 0 && len(result.Problems) == 0 {
				t.Errorf("%s: %v, and nothing is listed", name, problems)
			}
		}
	})
}
