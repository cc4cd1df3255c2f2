package remote_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
)

// Damaged files are ignored, and the least recently used are removed first.
func TestCache(t *testing.T) {
	w := newWorld(t)
	folder := t.TempDir()
	open := func(size int64) {
		cache, err := remote.NewCache(folder, size)
		if err != nil {
			t.Fatal(err)
		}
		w.client.Cache = cache
	}
	archives := func() []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(folder, "archives", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	fetch := func(version string) {
		t.Helper()
		if _, err := w.client.Fetch(context.Background(), w.places("redis", version)["index"]); err != nil {
			t.Fatal(err)
		}
	}
	open(0)
	w.add("redis", "1.0.0", nil)
	w.add("redis", "2.0.0", nil)
	fetch("1.0.0")
	if err := os.WriteFile(archives()[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Requests()
	fetch("1.0.0")
	if len(w.Requests()) == 0 {
		t.Error("a damaged archive was used")
	}
	fetch("1.0.0")
	if got := w.Requests(); len(got) > 0 {
		t.Errorf("asked for %v", got)
	}
	open(1)
	fetch("2.0.0")
	if got := archives(); len(got) != 1 {
		t.Errorf("got %d archives, want the newest", len(got))
	}
	w.Requests()
	fetch("2.0.0")
	if got := w.Requests(); len(got) > 0 {
		t.Errorf("the newest was dropped, asked for %v", got)
	}
}
