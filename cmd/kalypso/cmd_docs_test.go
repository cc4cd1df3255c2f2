package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
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

// TestReferenceShowsWhatIsPrinted runs the commands that the pages of the reference show together with their output.
func TestReferenceShowsWhatIsPrinted(t *testing.T) {
	shown := 0
	texts := pages(t, "../../docs/reference")
	t.Chdir("../../examples/hello-fleet")
	for name, text := range texts {
		for _, s := range consoleSteps(text) {
			if s.output == "" {
				continue
			}
			shown++
			var got bytes.Buffer
			run(context.Background(), strings.Fields(s.command)[1:], os.Environ(), nil, &got, &got)
			if diff := cmp.Diff(s.output, got.String()); diff != "" {
				t.Errorf("docs/reference/%s: $ %s (-page +program):\n%s", name, s.command, diff)
			}
		}
	}
	if shown == 0 {
		t.Error("no page shows any output")
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
