package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Charts are found without those that they depend on, and without libraries.
func TestChartsBelow(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a/Chart.yaml": "name: a\n", "a/charts/b/Chart.yaml": "name: b\n", "c/d/Chart.yaml": "name: d\n", "lib/Chart.yaml": "name: lib\ntype: library\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := chartsBelow(dir)
	if err != nil || len(got) != 2 || got[0] != filepath.Join(dir, "a") || got[1] != filepath.Join(dir, "c", "d") {
		t.Errorf("got %v and %v", got, err)
	}
}

// What is made up is not compared; everything else is.
func TestDocuments(t *testing.T) {
	helm := "---\n# Source: a/s.yaml\nkind: Secret\nmetadata:\n  name: rel-a\n---\n# Source: a/d.yaml\nkind: Deployment\n  checksum/a: 0123456789abcdef0123456789abcdef\n"
	ours := "---\n# Source: a/s.yaml\nkind: ExternalSecret\n---\n# Source: a/d.yaml\nkind: Deployment\n  checksum/a: 0000456789abcdef0123456789abcdef\n"
	var m made
	m.Object.Kind, m.Object.Name, m.Template, m.From = "Secret", "rel-a", "a/s.yaml", "ExternalSecrets"
	r := rendered{Made: []made{m}}
	r.Manifests = &struct {
		Content []byte `json:"content"`
	}{[]byte(ours)}
	if got := differs(same, helm, r); got.kind != same {
		t.Errorf("got %v", got)
	}
	if got := differs(same, helm+"---\nkind: Other\n", r); got.kind != different {
		t.Errorf("got %v", got)
	}
	if got := differs(same, helm+"---\nkind: Job\n  \"helm.sh/hook\": post-delete\n", r); got.kind != same {
		t.Errorf("got %v", got)
	}
}
