package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// filesOf returns the files below a folder with their contents; symbolic links and folders are left out.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWriteFolderChangesOnlyWhatItIsTold(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"drone/a/namespace.yaml": "old", "drone/b/namespace.yaml": "gone", "notes.md": "mine"})

	err := WriteFolder(t.Context(), dir, map[string][]byte{
		"drone/a/namespace.yaml": []byte("new"),
		"large/c/namespace.yaml": []byte("added"),
	}, []string{"drone/b/namespace.yaml", "never/was.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"drone/a/namespace.yaml": "new", "large/c/namespace.yaml": "added", "notes.md": "mine"}
	if diff := cmp.Diff(want, filesOf(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "drone/b")); !os.IsNotExist(err) {
		t.Errorf("the folder that was left empty is still there: %v", err)
	}
}

func TestWriteFolderIsAllOrNothing(t *testing.T) {
	before := map[string]string{"a.yaml": "a", "b.yaml": "b", "taken": "a file where a folder is needed"}
	tests := map[string]struct {
		put    map[string][]byte
		remove []string
	}{
		"a file where a folder is needed": {map[string][]byte{"a.yaml": []byte("new"), "taken/c.yaml": nil}, []string{"b.yaml"}},
		"a folder where a file is needed": {map[string][]byte{"a.yaml": []byte("new"), "full": []byte("x")}, []string{"b.yaml"}},
		"a path that leads out":           {map[string][]byte{"a.yaml": []byte("new"), "../out.yaml": nil}, nil},
		"a path into .git":                {map[string][]byte{"a.yaml": []byte("new"), ".git/hooks/pre-push": nil}, nil},
		"a link that leads out":           {map[string][]byte{"a.yaml": []byte("new"), "link/out.yaml": []byte("x")}, []string{"b.yaml"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir, outside := t.TempDir(), t.TempDir()
			write(t, dir, before)
			write(t, dir, map[string]string{"full/inside.yaml": "inside"})
			if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			was := filesOf(t, dir)
			if err := WriteFolder(t.Context(), dir, test.put, test.remove); err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(was, filesOf(t, dir)); diff != "" {
				t.Errorf("files (-before +after):\n%s", diff)
			}
			if files := filesOf(t, outside); len(files) > 0 {
				t.Errorf("wrote outside: %v", files)
			}
		})
	}
}

func TestWriteFolderRemovesLeftoversOfKilledProcesses(t *testing.T) {
	killed := exec.Command(os.Args[0], "-test.run=^$") // has ended when its number is used
	if err := killed.Run(); err != nil {
		t.Fatal(err)
	}
	dead := stagingPrefix + strconv.Itoa(killed.Process.Pid) + "/new-0"
	running := stagingPrefix + strconv.Itoa(os.Getppid()) + "/new-0"
	dir := t.TempDir()
	write(t, dir, map[string]string{dead: "x", running: "x", stagingPrefix + "notes": "mine"})

	if err := WriteFolder(t.Context(), dir, map[string][]byte{"a": []byte("new")}, nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{running: "x", stagingPrefix + "notes": "mine", "a": "new"}
	if diff := cmp.Diff(want, filesOf(t, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWriteFolderErrorsHaveHints(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"full/inside.yaml": "inside"})
	err := WriteFolder(t.Context(), dir, map[string][]byte{"full": []byte("x")}, nil)
	wantKind(t, err, ErrNotWritten, `"full" is a folder; take away what is in the way`)

	for number, want := range map[syscall.Errno]string{
		syscall.ENOSPC: "no space left; free some space",
		syscall.EDQUOT: "no space left; free some space",
		syscall.EFBIG:  "ulimit -f",
	} {
		err := writeError(dir, &fs.PathError{Op: "write", Path: ".kalypso-staging-1/new-0", Err: number})
		wantKind(t, err, ErrNotWritten, want)
		if strings.Contains(err.Error(), "repository") {
			t.Errorf("%v speaks of a repository", err)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WriteFolder(ctx, dir, map[string][]byte{"x": nil}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestWriteFolderLeavesNoFolderBehindWhenItFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := WriteFolder(t.Context(), dir, map[string][]byte{"a": nil, "a/b": nil}, nil); err == nil {
		t.Fatal("no error")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
}
