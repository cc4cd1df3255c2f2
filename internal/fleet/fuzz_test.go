package fleet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

// FuzzParse reads arbitrary bytes as every kind of source. It must not panic, every problem must have a message, and
// every error must come with an unreadable object.
func FuzzParse(f *testing.F) {
	cases, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range cases {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			if file.Name != golden {
				f.Add(file.Data)
			}
		}
	}
	for _, seed := range []string{
		"", "\x00", "\ufeff", "---", "--- |\n---\n", "%TAG ! x\n---\n!y z", "? a\n: b", "? [a]: b\n", "- - -\n", "&a *a", "&a [*a]",
		"<<: *a", "{<<: [1]}", "a: !!binary x", "!!map a", "a: !!float x", "\t", "a:\n\t- b", "&a : *a", "? &a {? *a : b}\n",
		strings.Repeat("[", 500), strings.Repeat("{a: ", 500), strings.Repeat("- ", 500), strings.Repeat("a\n---\n", 100),
		"apiVersion: v1\nkind: List\nitems: {}", "apiVersion: &a v1\nkind: List\nitems: [&b {apiVersion: *a, kind: List, items: [*b]}]",
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: &m {name: a, labels: {<<: {b: c}}}\nspec: {deploymentTargets: [{<<: *m}]}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o := fleet.Read(nil, fleettest.Source("main", map[string]string{"a.yaml": string(data)}))
		for _, p := range o.Problems {
			if p.Message == "" || p.Kind == "" {
				t.Errorf("empty problem %+v", p)
			}
			if p.Severity == fleet.SeverityError && len(o.Unreadable) == 0 && !strings.Contains(p.Message, "the default applies") && !strings.Contains(p.Message, "nothing is published") &&
				!strings.Contains(p.Message, "the path is not used") && !strings.Contains(p.Message, "the others are not used") {
				t.Errorf("%+v, but nothing is unreadable", p)
			}
		}
		fleettest.Format(fleet.Assemble(fleettest.Inputs("dev", map[string]string{
			"main/a.yaml": string(data), "env/a.yaml": string(data), "workloads/app/a.yaml": string(data), "configs/dev/a.yaml": string(data),
		})))
	})
}
