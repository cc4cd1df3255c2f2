package health

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
)

// The module with the examples. Those of the kinds that the agent has rules of its own for are no part of the comparison.
const (
	module  = "github.com/argoproj/argo-cd/v3"
	version = "v3.5.7"
	sum     = "h1:Xm1BF+I5OgDKUG3SDK49vn2/Y5AMyaNVko+/JT08gj0="
)

// most is how many of a label may be judged wrongly, in percent.
const most = 6

// own are kinds that the agent has rules for: those of reconcilers, and those of Kubernetes, which judges/kstatus compares.
var own = []string{
	"apiextensions.k8s.io/CustomResourceDefinition", "policy/PodDisruptionBudget",
	"argoproj.io/Application", "kustomize.toolkit.fluxcd.io/Kustomization", "helm.toolkit.fluxcd.io/HelmRelease", "fleet.cattle.io/GitRepo",
}

// score counts the examples of a label.
type score struct {
	all, wrong int
	states     map[hub.State]int
}

// wrong are the states that contradict a label: what is broken or stands still is not ready, and what is healthy has not failed.
var wrong = map[string][]hub.State{
	"Degraded":  {hub.StateReady},
	"Suspended": {hub.StateReady},
	"Healthy":   {hub.StateFailed},
}

func TestLabelled(t *testing.T) {
	measured, seen := map[string]*score{}, map[string]*score{}
	root := filepath.Join(download(t), "resource_customizations")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "health_test.yaml" {
			return err
		}
		kind, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil || slices.Contains(own, filepath.ToSlash(kind)) {
			return err
		}
		scores := seen
		heldOut := sha256.Sum256([]byte(filepath.ToSlash(kind)))[0]%2 == 1
		if heldOut {
			scores = measured
		}
		return examples(t, filepath.Dir(path), func(label, file string, r hub.Report) {
			s := scores[label]
			if s == nil {
				s = &score{states: map[hub.State]int{}}
				scores[label] = s
			}
			s.all++
			s.states[r.State]++
			if slices.Contains(wrong[label], r.State) {
				s.wrong++
				if !heldOut { // the others stay unseen
					t.Logf("%s %s, which is labelled %s, is %s", kind, file, label, r.State)
				}
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for label := range wrong {
		for name, scores := range map[string]map[string]*score{"held out": measured, "seen": seen} {
			s := scores[label]
			if s == nil || s.all < 20 {
				t.Fatalf("too few examples are labelled %s", label)
			}
			t.Logf("%s, %s: %d agreed, %d failed; states %v", label, name, s.all-s.wrong, s.wrong, s.states)
			if s.wrong*100 > most*s.all {
				t.Errorf("%s, %s: %d of %d are judged wrongly, more than %d %%", label, name, s.wrong, s.all, most)
			}
		}
	}
}

// examples calls do for each labelled example of a kind.
func examples(t *testing.T, folder string, do func(label, file string, r hub.Report)) error {
	text, err := os.ReadFile(filepath.Join(folder, "health_test.yaml"))
	if err != nil {
		return err
	}
	var table struct {
		Tests []struct {
			HealthStatus struct{ Status string }
			InputPath    string
		}
	}
	if err := yaml.Unmarshal(text, &table); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	for _, c := range table.Tests {
		text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(c.InputPath)))
		if err != nil {
			return err
		}
		asJSON, err := yaml.YAMLToJSON(text)
		u := &unstructured.Unstructured{}
		if err := errors.Join(err, u.UnmarshalJSON(asJSON)); err != nil {
			t.Logf("%s %s is not an object: %v", folder, c.InputPath, err)
			continue
		}
		for _, r := range reconciler.Reports(u, func(string, string, string) *unstructured.Unstructured { return nil }, nil, time.Now()) {
			do(c.HealthStatus.Status, c.InputPath, r)
		}
	}
	return nil
}

// download returns the folder of the module.
func download(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", module+"@"+version).Output()
	var m struct{ Dir, Sum, Error string }
	if err := errors.Join(err, json.Unmarshal(out, &m)); err != nil {
		t.Fatalf("download %s@%s: %v %s", module, version, err, m.Error)
	}
	if m.Sum != sum {
		t.Errorf("%s@%s has the checksum %s, want %s", module, version, m.Sum, sum)
	}
	return m.Dir
}
