package carry

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestSources reads the objects of each reconciler: testdata/sources has a file for each, with the sources it names.
func TestSources(t *testing.T) {
	files, err := filepath.Glob("testdata/sources/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			in, want := archive.Files[i], strings.TrimSpace(string(archive.Files[i+1].Data))
			if got := describe(in.Data); got != want {
				t.Errorf("%s: %s: got\n%s\nwant\n%s", file, in.Name, got, want)
			}
		}
	}
}

// describe writes a line for each source.
func describe(content []byte) string {
	found, err := sourcesOf(content)
	if err != nil {
		return "error: " + err.Error()
	}
	var lines []string
	for _, s := range found {
		line := fmt.Sprintf("%s %s", s.repository, s.reference)
		if s.chart != "" {
			line = fmt.Sprintf("chart %s %s of %s", s.chart, s.version, s.repository)
		}
		if s.artifact {
			line = "artifact " + line
		}
		if folder, err := s.folder(); err != nil {
			line += " error: " + err.Error()
		} else if folder != "" {
			line += " below " + folder
		}
		if s.tagFirst {
			line += " (a tag first)"
		}
		if s.values != nil {
			line += fmt.Sprint(" with ", s.values)
		}
		if s.unsure != "" {
			line += " unsure because " + s.unsure
		}
		if s.reason != "" {
			line += " but " + s.reason
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

// TestSourcesOfBuiltinTemplates: what the built-in templates write is understood, for every storage.
func TestSourcesOfBuiltinTemplates(t *testing.T) {
	for _, name := range []string{"flux", "argocd", "fleet", "direct", "zarf"} {
		archive, err := txtar.ParseFile("../render/testdata/builtin/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, f := range archive.Files {
			text, rendered := strings.CutPrefix(string(f.Data), "== "+name+"\n")
			if !rendered || strings.HasPrefix(text, "error ") || f.Name == "hostile.want" {
				continue // there is no URL
			}
			found++
			sources, err := sourcesOf([]byte(text))
			if err != nil {
				t.Errorf("%s: %s: %v", name, f.Name, err)
			}
			for _, s := range sources {
				if s.repository == "" || s.reason != "" || s.unsure != "" {
					t.Errorf("%s: %s: got %+v", name, f.Name, s)
				}
			}
		}
		if found == 0 {
			t.Errorf("%s has no case", name)
		}
	}
}

// FuzzSources: what a GitOps branch has is not trusted.
func FuzzSources(f *testing.F) {
	files, err := filepath.Glob("testdata/sources/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for i := 0; i < len(archive.Files); i += 2 {
			f.Add(archive.Files[i].Data)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		found, err := sourcesOf(content)
		if err == nil && len(found) == 0 {
			t.Error("got no error for a file without sources")
		}
		for _, s := range found {
			if folder, err := s.folder(); err == nil && slices.Contains(strings.Split(folder, "/"), "..") {
				t.Errorf("%q leads to %q", s.path, folder)
			}
		}
	})
}
