package kalypso

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// generated are the folders that `go generate ./api/...` reads and writes.
var generated = []string{"api", "docs/schemas"}

// TestGeneratedFilesAreFresh runs the generators of the API types on a copy, and finds nothing to change.
func TestGeneratedFilesAreFresh(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"go.mod", "go.sum"} {
		copyFile(t, file, filepath.Join(dir, file))
	}
	before := map[string]string{}
	for _, path := range repositoryFiles(t) {
		if slices.ContainsFunc(generated, func(f string) bool { return strings.HasPrefix(path, f+"/") }) {
			copyFile(t, path, filepath.Join(dir, path))
			before[path] = readText(t, path)
		}
	}

	generate := exec.Command("go", "generate", "./api/...")
	generate.Dir = dir
	if output, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("go generate: %v\n%s", err, output)
	}

	t.Chdir(dir)
	for _, path := range repositoryFiles(t) {
		if filepath.Dir(path) == "." {
			continue
		}
		if diff := cmp.Diff(before[path], readText(t, path)); diff != "" {
			t.Errorf("%s is stale; run make generate (-committed +generated):\n%s", path, diff)
		}
		delete(before, path)
	}
	for path := range before {
		t.Errorf("%s is not generated any more; run make generate", path)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
