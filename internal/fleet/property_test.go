package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

// equal compares snapshots completely, including digests.
var equal = cmp.Options{
	cmp.Comparer(func(a, b labels.Selector) bool { return a.String() == b.String() }),
	cmp.Comparer(func(a, b *yaml.Node) bool { return a.Value == b.Value && a.Line == b.Line }),
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreUnexported(fleet.Snapshot{}), // the inputs
}

// TestFileOrder checks that the order of the files does not affect the snapshot, including its digests.
func TestFileOrder(t *testing.T) {
	for path, ar := range archives(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want := fleettest.FromTxtar(ar, "dev")
			rapid.Check(t, func(t *rapid.T) {
				shuffled := &txtar.Archive{Files: rapid.Permutation(ar.Files).Draw(t, "files")}
				if diff := cmp.Diff(want, fleettest.FromTxtar(shuffled, "dev"), equal); diff != "" {
					t.Fatalf("snapshot (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestDocumentOrder checks that the order of the documents in a file affects positions only.
func TestDocumentOrder(t *testing.T) {
	for path, ar := range archives(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want := withoutPositions(fleettest.FromTxtar(ar, "dev"))
			rapid.Check(t, func(t *rapid.T) {
				shuffled := &txtar.Archive{}
				for _, f := range ar.Files {
					documents := strings.Split("\n"+string(f.Data), "\n---\n")
					documents = rapid.Permutation(documents).Draw(t, f.Name)
					shuffled.Files = append(shuffled.Files, txtar.File{Name: f.Name, Data: []byte(strings.Join(documents, "\n---\n"))})
				}
				got := withoutPositions(fleettest.FromTxtar(shuffled, "dev"))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("snapshot (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestNothingIsLost checks that every target of the environment is either in the snapshot or listed as unreadable,
// whatever else is broken, and whether it is a part of a Workload or an object of its own.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfNDistinct(rapid.IntRange(0, 50), 1, 10, rapid.ID).Draw(t, "targets")
		var b, own strings.Builder
		fmt.Fprintf(&b, workloadHead, "app")
		for _, n := range entries {
			broken := rapid.SampledFrom([]string{"", "labels: [1]", "environment: dev", "manifests: text", "extra: 1", "configSchemas: {}"}).Draw(t, "break")
			if rapid.Bool().Draw(t, "object of its own") {
				fmt.Fprintf(&own, "---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: DeploymentTarget\n"+
					"metadata: {name: app-t%d, labels: {workload: app}}\nspec: {environment: dev, %s}\n", n, broken)
			} else {
				fmt.Fprintf(&b, "    - {name: t%d, environment: dev, %s}\n", n, broken)
			}
		}
		s := fleet.Assemble(fleettest.Inputs("dev", map[string]string{
			"main/app.yaml":          "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: app}\nspec: {workload: {repo: r}}\n",
			"workloads/app/app.yaml": b.String(),
			"env/targets.yaml":       own.String(),
		}))
		for _, n := range entries {
			name := fmt.Sprintf("app-t%d", n)
			readable := slices.ContainsFunc(s.Targets, func(t *fleet.Target) bool { return t.Name == name })
			unreadable := slices.ContainsFunc(s.Unreadable, func(u fleet.Unreadable) bool { return u.Ref.Name == name })
			if readable == unreadable {
				t.Fatalf("%s: readable %t, unreadable %t\n%s", name, readable, unreadable, b.String()+own.String())
			}
		}
	})
}

// archives returns the cases whose documents can be moved, because no
// anchor or broken document affects another document.
func archives(t *testing.T) map[string]*txtar.Archive {
	t.Helper()
	all := map[string]*txtar.Archive{}
	for _, name := range []string{"tutorial", "duplicate_objects", "extends", "target_broken", "branch_wrong", "workload_registered_twice", "yaml_broken"} {
		path := filepath.Join("testdata", name+".txtar")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		ar := txtar.Parse(data)
		ar.Files = slices.DeleteFunc(ar.Files, func(f txtar.File) bool { return f.Name == golden })
		all[path] = ar
	}
	return all
}

// withoutPositions formats a snapshot without lines, its lines sorted.
func withoutPositions(s *fleet.Snapshot) []string {
	for i := range s.Problems {
		if s.Problems[i].Kind == fleet.KindDuplicate {
			s.Problems[i].Message = "" // contains the lines
		}
	}
	var lines []string
	for line := range strings.Lines(fleettest.Format(s)) {
		line, _, _ = strings.Cut(line, "  (")
		if before, after, found := strings.Cut(line, ": "); found && strings.Trim(before, " 0123456789") == "" {
			line = after
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}
