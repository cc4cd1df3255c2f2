package reflock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// observed is a file that records what is done with it.
type observed struct {
	*os.File
	did  []string
	full error // the error of Sync
}

func (o *observed) WriteString(s string) (int, error) {
	o.did = append(o.did, "write "+s)
	return o.File.WriteString(s)
}

func (o *observed) Chmod(mode fs.FileMode) error {
	o.did = append(o.did, "mode "+mode.String())
	return o.File.Chmod(mode)
}

func (o *observed) Sync() error {
	o.did = append(o.did, "sync")
	return errors.Join(o.full, o.File.Sync())
}

func (o *observed) Close() error {
	o.did = append(o.did, "close")
	return o.File.Close()
}

// A file is on the disk before it gets its name, and is not used if the disk refuses it.
func TestContentIsOnTheDiskBeforeTheFileIsUsed(t *testing.T) {
	full := errors.New("the disk is full")
	for _, want := range []error{nil, full} {
		file, err := os.Create(filepath.Join(t.TempDir(), "next"))
		if err != nil {
			t.Fatal(err)
		}
		o := &observed{File: file, full: want}
		if err := store(o, "new"); !errors.Is(err, want) {
			t.Errorf("the error is %v, want %v", err, want)
		}
		if did := []string{"write new", "mode -rw-r--r--", "sync", "close"}; !slices.Equal(o.did, did) {
			t.Errorf("it did %q, want %q", o.did, did)
		}
		if content, err := os.ReadFile(file.Name()); err != nil || string(content) != "new" {
			t.Errorf("the file contains %q: %v", content, err)
		}
	}
}
