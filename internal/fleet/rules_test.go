package fleet_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

var update = flag.Bool("update", false, "rewrite the golden parts of the cases in testdata")

const golden = "snapshot"

// TestRules assembles the environment "dev" of each case and compares it with the case's golden snapshot.
// A case shows the rule that it is named after.
func TestRules(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("find cases: %d, %v", len(cases), err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			ar := txtar.Parse(data)
			got := fleettest.Format(fleettest.FromTxtar(ar, "dev"))
			if *update {
				rewrite(t, path, ar, got)
				return
			}
			if diff := cmp.Diff(file(ar, golden), got); diff != "" {
				t.Errorf("snapshot (-want +got):\n%s", diff)
			}
		})
	}
}

func file(ar *txtar.Archive, name string) string {
	for _, f := range ar.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// rewrite puts the golden part at the end of a case.
func rewrite(t *testing.T, path string, ar *txtar.Archive, got string) {
	t.Helper()
	var files []txtar.File
	for _, f := range ar.Files {
		if f.Name != golden {
			files = append(files, f)
		}
	}
	ar.Files = append(files, txtar.File{Name: golden, Data: []byte(got)})
	data := txtar.Format(ar)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
