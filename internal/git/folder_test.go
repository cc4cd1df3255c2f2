package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A plain folder includes uncommitted changes.
func TestFolderHasUncommittedChanges(t *testing.T) {
	made := newRepo(t, someFiles)
	writeFiles(t, made.dir, map[string]string{"a.yaml": "changed\n", "untracked.yaml": "new\n"})
	tree, err := Folder(made.dir)
	if err != nil {
		t.Fatal(err)
	}
	got := contents(t, tree)
	if got["a.yaml"] != "changed\n" || got["untracked.yaml"] != "new\n" || len(got) != len(someFiles)+1 {
		t.Errorf("got %v", got)
	}
}

func TestFolderOfBranches(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"main/a.yaml": "1", "dev/b.yaml": "2", "feature/x/c.yaml": "3", "file": "", ".hidden/x": ""})
	r := open(t, newClient(t, nil), dir)
	branches, err := r.Branches(t.Context())
	if diff := cmp.Diff([]string{"dev", "feature", "main"}, branches); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for branch, want := range map[string]map[string]string{
		"main": {"a.yaml": "1"}, "": {"a.yaml": "1"}, "dev": {"b.yaml": "2"}, "feature/x": {"c.yaml": "3"},
	} {
		c := resolve(t, r, branch, "")
		if c.Hash != "" || c.Short() != "worktree" {
			t.Errorf("commit %+v", c)
		}
		if diff := cmp.Diff(want, contents(t, r.Tree(c))); diff != "" {
			t.Errorf("branch %q: %s", branch, diff)
		}
	}
	_, err = r.Resolve(t.Context(), "prod", "")
	wantKind(t, err, ErrBranchNotFound, "dev, feature, main")
	_, err = r.Resolve(t.Context(), "../main", "")
	wantKind(t, err, ErrBranchNotFound)
	_, err = r.Resolve(t.Context(), "dev", "abc123")
	wantKind(t, err, ErrCommitNotFound, "has no commits")
}

func TestFolderErrors(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.yaml": "1"})
	_, err := Folder(filepath.Join(dir, "nowhere"))
	wantKind(t, err, ErrPathNotFound, "nowhere")
	_, err = Folder(filepath.Join(dir, "a.yaml"))
	wantKind(t, err, ErrInvalid, "it is a file")
}

// What is read is what was listed: changes, and links put in place of files, are detected.
func TestFolderChangesWhileRead(t *testing.T) {
	outside := t.TempDir()
	writeFiles(t, outside, map[string]string{"a.yaml": "1"})
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"sub/a.yaml": "1", "b.yaml": "2"})
	tree, _ := Folder(dir)
	entries, err := tree.Files(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, map[string]string{"b.yaml": "3"})
	_, err = tree.Read(t.Context(), entries[0], 100)
	wantKind(t, err, ErrUnavailable, "changed while the folder was read")
	if err := os.RemoveAll(filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if content, err := tree.Read(t.Context(), entries[1], 100); err == nil {
		t.Errorf("read %q through a link out of the folder", content)
	}
}

// Links in a loop and links to folders are reported but not followed.
func TestFolderLinkLoop(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(".", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	tree, _ := Folder(dir)
	entries, err := tree.Files(t.Context(), "")
	if diff := cmp.Diff([]string{"loop"}, paths(entries)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
