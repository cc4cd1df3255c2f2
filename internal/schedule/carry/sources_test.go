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
		if s.values != nil {
			line += fmt.Sprint(" with ", s.values)
		}
		if s.reason != "" {
			line += " but " + s.reason
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
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
			t.Error("a file without sources is no error")
		}
		for _, s := range found {
			if folder, err := s.folder(); err == nil && slices.Contains(strings.Split(folder, "/"), "..") {
				t.Errorf("%q leads to %q", s.path, folder)
			}
		}
	})
}
