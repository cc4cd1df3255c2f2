// Package casetest runs test cases: txtar archives in testdata, each named after the rule that it
// shows, with inputs and golden output. The flag -update rewrites the output.
package casetest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden parts of the cases in testdata")

// Case is an archive with input files and golden files.
type Case struct {
	*txtar.Archive
	// Name of the file, without extension.
	Name string
}

// Run calls test for each archive that the pattern matches, such as "testdata/*.txtar". No match is a failure.
func Run(t *testing.T, pattern string, test func(t *testing.T, c Case)) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases in %s: %v", pattern, err)
	}
	for _, path := range paths {
		c := Case{Name: strings.TrimSuffix(filepath.Base(path), ".txtar")}
		t.Run(c.Name, func(t *testing.T) {
			if c.Archive, err = txtar.ParseFile(path); err != nil {
				t.Fatal(err)
			}
			test(t, c)
			if *update {
				c.write(t, path)
			}
		})
	}
}

// write updates the file if a golden part has changed.
func (c Case) write(t *testing.T, path string) {
	t.Helper()
	data := txtar.Format(c.Archive)
	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) {
		return
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Text returns the content of a file, or "" if it does not exist.
func (c Case) Text(name string) string {
	if f := c.file(name); f != nil {
		return string(f.Data)
	}
	return ""
}

// Golden compares a golden file with the actual output.
// With -update it replaces the file, or appends it to the archive.
func (c Case) Golden(t *testing.T, name, got string) {
	t.Helper()
	if !*update {
		if diff := cmp.Diff(c.Text(name), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		return
	}
	f := c.file(name)
	if f == nil {
		c.Files = append(c.Files, txtar.File{Name: name})
		f = c.file(name)
	}
	f.Data = []byte(got)
}

func (c Case) file(name string) *txtar.File {
	for i := range c.Files {
		if c.Files[i].Name == name {
			return &c.Files[i]
		}
	}
	return nil
}
