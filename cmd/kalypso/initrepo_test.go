package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file cannot lie where a folder is: such a branch can be committed, but never checked out.
var impossible = repository{branches: []branch{{"main", map[string][]byte{"a": nil, "a/b": nil}}}}

func TestARepositoryIsWrittenCompletelyOrNotAtAll(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	if err := os.Mkdir(filepath.Join(parent, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"new", "empty"} {
		if err := createRepository(filepath.Join(parent, dir), impossible); err == nil {
			t.Errorf("%s: got no error", dir)
		}
	}
	if diff := cmp.Diff([]string{"empty"}, tree(t, parent)); diff != "" {
		t.Errorf("what is left, -want +got:\n%s", diff)
	}
}

func TestMoveEntriesIsUndone(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	for _, dir := range []string{
		filepath.Join(from, ".git"), filepath.Join(from, "main"), filepath.Join(from, "taken"),
		filepath.Join(to, "taken", "by somebody"),
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := moveEntries(from, to); err == nil {
		t.Error("got no error")
	}
	if diff := cmp.Diff([]string{"taken", "taken/by somebody"}, tree(t, to)); diff != "" {
		t.Errorf("what is left, -want +got:\n%s", diff)
	}
}

// tree lists what lies below a folder.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if name, _ := filepath.Rel(root, path); name != "." {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
