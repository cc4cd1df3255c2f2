package sample

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFolderKeepsTheState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sample")
	state := State{Listen: "127.0.0.1:8080", Made: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Site: Site{URL: "http://127.0.0.1:8080"}, ID: "one"}
	made, err := Create(dir, state)
	if err != nil {
		t.Fatal(err)
	}
	if made.State.Mark() == "" {
		t.Error("it has no mark")
	}
	state.Format = format
	opened, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(state, opened.State); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	info, err := os.Stat(filepath.Join(dir, stateFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a private file", info, err)
	}
}

func TestCreateLeavesOthersAlone(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine.txt"))
	if _, err := Create(dir, State{}); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("got %v, want that it is not empty", err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrNoSample) {
		t.Errorf("got %v, want that it is no sample", err)
	}
	file := filepath.Join(dir, "mine.txt")
	if _, err := Create(file, State{}); err == nil {
		t.Error("a file was taken for a folder")
	}
}

// TestRemoveTakesOnlyItsOwn checks that it does not follow a link that replaced one of its files.
func TestRemoveTakesOnlyItsOwn(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "mine.txt"))
	f, err := Create(filepath.Join(t.TempDir(), "sample"), State{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, f.Clusters()); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(f.Data(), "forge", "repos", "x.git", "HEAD"))
	for _, name := range []string{f.ControlToken(), f.Credentials(), f.Log(), f.Running(), filepath.Join(f.Dir, "notes", "mine.txt")} {
		write(t, name)
	}
	left, err := f.Remove()
	if err != nil || !cmp.Equal(left, []string{"notes"}) {
		t.Errorf("got %v, %v, want the notes to be left", left, err)
	}
	for _, name := range []string{filepath.Join(outside, "mine.txt"), filepath.Join(f.Dir, "notes", "mine.txt")} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(f.Dir); err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want only the notes", entries, err)
	}
}

func write(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}
