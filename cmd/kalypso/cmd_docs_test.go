package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const reference = "../../docs/cli"

// TestReferenceOfTheCommandsIsFresh: docs/cli says what the commands of now say, and nothing else.
func TestReferenceOfTheCommandsIsFresh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var complaints bytes.Buffer
	if code := run(context.Background(), []string{"docs", dir}, nil, nil, io.Discard, &complaints); code != 0 {
		t.Fatalf("exit code %d: %s", code, &complaints)
	}
	committed, generated := pages(t, reference), pages(t, dir)
	for name, want := range generated {
		if diff := cmp.Diff(committed[name], want); diff != "" {
			t.Errorf("docs/cli/%s is stale; run make generate (-committed +generated):\n%s", name, diff)
		}
		delete(committed, name)
	}
	for name := range committed {
		t.Errorf("docs/cli/%s describes no command any more; delete it", name)
	}
}

func pages(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(name)] = string(text)
	}
	return found
}
