package engine_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

var update = flag.Bool("update", false, "rewrite the golden files of the cases")

// TestCases runs testdata/*.txtar: the files of a chart, kustomization or folder (files/...), values (config/...) and
// a job in YAML; golden are, for each target, the manifests, what is in them, and the problems.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			job, want := readCase(t, archive)
			got := show(engine.Run(job, nil))
			if *update {
				archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "want/") })
				for _, f := range got {
					archive.Files = append(archive.Files, txtar.File{Name: "want/" + f.Name, Data: f.Data})
				}
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(&txtar.Archive{Files: want})), string(txtar.Format(&txtar.Archive{Files: got}))); diff != "" {
				t.Errorf("-want +got; -update rewrites:\n%s", diff)
			}
			again := engine.Run(readAgain(t, job), nil)
			if diff := cmp.Diff(got, show(again)); diff != "" {
				t.Errorf("a job that was written and read gives something else:\n%s", diff)
			}
		})
	}
}

// readAgain encodes a job as JSON and decodes it, as if it were sent to another process.
func readAgain(t *testing.T, job *chart.Job) *chart.Job {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	var again chart.Job
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	return &again
}

func readCase(t *testing.T, archive *txtar.Archive) (*chart.Job, []txtar.File) {
	t.Helper()
	job := &chart.Job{Config: map[string][]byte{}, ConfigSource: "config"}
	var want []txtar.File
	for _, f := range archive.Files {
		folder, rest, _ := strings.Cut(f.Name, "/")
		switch folder {
		case "files":
			job.Files = append(job.Files, chart.File{Path: rest, Content: f.Data})
		case "config":
			job.Config[rest] = f.Data
		case "want":
			want = append(want, txtar.File{Name: rest, Data: f.Data})
		case "job.yaml":
			if err := yaml.UnmarshalStrict(f.Data, job); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("what is %q?", f.Name)
		}
	}
	return job, want
}

func show(r *chart.Result) []txtar.File {
	var files []txtar.File
	for _, target := range r.Targets {
		if target.Manifests != nil {
			files = append(files, txtar.File{Name: target.Name + "/manifests.yaml", Data: target.Manifests.Content})
			var b strings.Builder
			for _, o := range target.Manifests.Objects {
				fmt.Fprintf(&b, "%s %s from %s\n", o.APIVersion, o, o.Source)
			}
			for _, image := range target.Manifests.Images {
				fmt.Fprintf(&b, "image %s\n", image)
			}
			files = append(files, txtar.File{Name: target.Name + "/contents", Data: []byte(b.String())})
		}
		if len(target.Problems) > 0 {
			files = append(files, txtar.File{Name: target.Name + "/problems", Data: []byte(showProblems(target.Problems))})
		}
	}
	return files
}

func showProblems(problems []fleet.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s %s %s: %s\n", p.Severity, p.Position, p.Kind, p.Message)
	}
	return b.String()
}
