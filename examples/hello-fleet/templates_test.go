package hellofleet

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

var update = flag.Bool("update", false, "copy the built-in templates into the example")

const templates = "control-plane/main/templates"

// The example carries the built-in templates, so that readers see what is filled in, and can change it.
func TestTemplatesAreTheBuiltInOnes(t *testing.T) {
	want := render.Builtin()
	// Clusters that are connected by Azure Arc call theirs by this name.
	want["arc-flux.yaml"] = bytes.Replace(want["flux.yaml"], []byte("\n  name: flux\n"), []byte("\n  name: arc-flux\n"), 1)
	if *update {
		writeTemplates(t, want)
	}
	if diff := cmp.Diff(want, contents(t, os.DirFS("."), templates)); diff != "" {
		t.Errorf("run the test with -update; -want +got:\n%s", diff)
	}
}

func writeTemplates(t *testing.T, files map[string][]byte) {
	t.Helper()
	if err := os.RemoveAll(templates); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(templates, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(templates, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
