package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kalypso-io/kalypso/internal/git/filelock"
)

// A lock is held until its file is closed, and belongs to one handle.
func TestOneHasTheLock(t *testing.T) {
	at := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		t.Helper()
		file, err := os.OpenFile(at, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	locks := func(file *os.File, want bool) {
		t.Helper()
		if locked, err := filelock.TryLock(file); err != nil || locked != want {
			t.Errorf("got %v, %v, want %v", locked, err, want)
		}
	}
	one, other := open(), open()
	locks(one, filelock.Supported)
	locks(other, false)
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	locks(other, filelock.Supported)
}

func TestClosedFilesHaveNoLock(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if locked, err := filelock.TryLock(file); locked || filelock.Supported && err == nil {
		t.Errorf("got %v, %v", locked, err)
	}
}
