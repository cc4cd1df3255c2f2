package render

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// documentedKeys are the keys of a target's manifests, except storage, and rings, which package bundle uses.
var documentedKeys = []string{"repo", "branch", "tag", "path", "chart", "version", "secret", "type", "unheard-of"}

// TestBuiltinUsesOrRefusesKeys changes each key of a target's manifests, for each built-in template of a reconciler and
// each storage. The output changes, or the template refuses the key: clusters would run something else than the target
// asks for if it were ignored.
func TestBuiltinUsesOrRefusesKeys(t *testing.T) {
	tried := 0
	for name, source := range builtinSources() {
		if source.Type != v1alpha1.ReconcilerTemplate {
			continue
		}
		for _, storage := range []string{"", "git", "oci", "helm", "s3"} {
			groups, known := builtinTemplates()[name].keys[cmp.Or(storage, "git")]
			manifests := map[string]string{"storage": storage}
			for _, group := range groups {
				manifests[group[0]] = "one"
			}
			if out := renderBuiltin(t, name, manifests); known == (out == "") {
				t.Errorf("template %s, %v: got %q", name, manifests, out)
			}
			for _, key := range documentedKeys {
				tried++
				checkKey(t, name, manifests, groups, key)
			}
		}
	}
	if tried < 6*5*len(documentedKeys) {
		t.Errorf("tried %d keys of built-in templates", tried)
	}
}

// checkKey changes a key of manifests that a template accepts. It is refused beside keys that it excludes.
func checkKey(t *testing.T, name string, manifests map[string]string, groups [][]string, key string) {
	t.Helper()
	i := slices.IndexFunc(groups, func(group []string) bool { return slices.Contains(group, key) })
	changed := maps.Clone(manifests)
	changed[key] = "two"
	if i >= 0 {
		if out := renderBuiltin(t, name, changed); out != "" && groups[i][0] != key {
			t.Errorf("template %s uses %v, of which only one has an effect:\n%s", name, changed, out)
		}
		delete(changed, groups[i][0])
		changed[key] = "two"
	}
	before, after := renderBuiltin(t, name, manifests), renderBuiltin(t, name, changed)
	if i >= 0 && (after == before || after == "") {
		t.Errorf("template %s declares %q, which has no effect in %v:\n%s", name, key, changed, after)
	}
	if i < 0 && after != "" {
		t.Errorf("template %s does not refuse %q in %v:\n%s", name, key, changed, after)
	}
}

// renderBuiltin returns the output of a built-in template; empty if it refuses the manifests.
func renderBuiltin(t *testing.T, name string, manifests map[string]string) string {
	t.Helper()
	l, _ := NewLibrary(&fleet.Snapshot{}, nil)
	d := exampleData("shop-prod")
	d.Manifests = manifests
	template, _ := l.Find(v1alpha1.ReconcilerTemplate, name)
	w := l.Worker()
	out, err := []byte(nil), template.keys.refuse(template, &d)
	if err == nil {
		for _, m := range template.manifests {
			// The values are no addresses, which the output would be refused for.
			w.out = append(w.out, "---\n"...)
			w.begin(false)
			if err := w.execute(m.text, &d); err != nil {
				t.Fatalf("template %s, %v: %v", name, manifests, err)
			}
		}
		out = w.out
	}
	return string(out)
}

// TestKeysOfTemplates compares the keys that built-in templates declare with those that their texts read.
func TestKeysOfTemplates(t *testing.T) {
	for name, parsed := range builtinTemplates() {
		declared, read := map[string]bool{}, map[string]bool{}
		for _, groups := range parsed.keys {
			for _, key := range slices.Concat(groups...) {
				declared[key] = true
			}
		}
		for _, m := range parsed.manifests {
			for _, a := range m.text.actions {
				for _, keys := range a.keys {
					if len(keys) > 1 && keys[0] == "Manifests" {
						read[keys[1]] = true
					}
				}
			}
		}
		delete(read, storageKey)
		if !maps.Equal(declared, read) {
			t.Errorf("template %s declares the keys %v, and reads %v", name, declared, read)
		}
	}
}
