package bundle_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// FuzzReadPublished reads a branch with an arbitrary inventory. Whatever it contains, builds only change files that
// an assignment's folder of that cluster type can have, its README and the inventory. Only one of a newer version is refused.
func FuzzReadPublished(f *testing.F) {
	for _, inventory := range []string{
		`{"version": 1, "clusterType": "one", "readme": "", "sources": {}, "assignments": {}}`,
		`{"version": 1, "clusterType": "one", "assignments": {"a": {"files": {"namespace.yaml": "0d1f0d1f0d1f0d1f0d1f0d1f0d1f0d1f0d1f0d1f"}}}}`,
		`{"version": 1, "clusterType": "one", "assignments": {"../two": {"files": {"namespace.yaml": "00"}}}}`,
		`{"version": 1, "clusterType": "one", "assignments": {"a": {"files": {"../../else.txt": "0d1f0d1f0d1f0d1f0d1f0d1f0d1f0d1f0d1f0d1f"}}}}`,
		`{"version": 1, "clusterType": "one", "sources": {"x": ["", "/", "Kind/", null]}, "assignments": {"a": {"sources": "x", "policies": ["", "\n"]}}}`,
		`{"version": 1e9, "clusterType": 5, "assignments": []}`,
		"null", "[]", "{", "\xff",
	} {
		f.Add(inventory)
	}
	f.Fuzz(func(t *testing.T, inventory string) {
		branch := map[string]string{
			".kalypso/inventory/one.json": inventory,
			"one/README.md":               "readme", "one/a/namespace.yaml": "kind: Namespace\n", "one/a/notes.txt": "mine",
			"one/deeper/a/namespace.yaml": "mine", "two/a/namespace.yaml": "mine", "else.txt": "mine",
		}
		s := &fleet.Snapshot{Environment: "dev"}
		p, err := readBranch(s, branch)
		if errors.Is(err, bundle.ErrNewer) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range bundle.Build(s, p, nil).Changes() {
			if branch[c.Path] == "mine" {
				t.Errorf("%s is changed", c.Path)
			}
		}
		held := fleet.Assemble(fleettest.Inputs("dev", map[string]string{"env/broken.yaml": "kind: [\n"}))
		written := apply(branch, bundle.Build(held, p, nil))
		again, err := readBranch(held, written)
		if err != nil {
			t.Fatal(err)
		}
		if changes := bundle.Build(held, again, nil).Changes(); len(changes) > 0 {
			t.Errorf("what was kept is changed again: %s\n%s", strings.Join(changed(changes), ", "), written[".kalypso/inventory/one.json"])
		}
	})
}

// FuzzRefs checks that a file for a ring differs only in its refs: with the branch of the ring taken back, it is the file again.
func FuzzRefs(f *testing.F) {
	f.Add("kind: GitRepository\nspec: {url: https://example.com/shop, ref: {branch: \"prod\"}}\n")
	f.Add("a: [https://example.com/shop, prod, &x prod, *x, !!str prod, 'prod', \"pr\\u006fd\"]\u2028b: prod\n")
	f.Add("spec: {repo: https://example.com/shop, branch: prod}\r\n---\n{ä: prod}")
	f.Fuzz(func(t *testing.T, text string) {
		ref := bundle.Ref{Repo: "https://example.com/shop", Branch: "prod", Rings: []string{"canary"}}
		got, refs := ref.In([]byte(text), "canary")
		if back := strings.ReplaceAll(string(got), "prod-ring-canary", "prod"); back != strings.ReplaceAll(text, "prod-ring-canary", "prod") {
			t.Errorf("%q became %q", text, got)
		}
		if refs == 0 && string(got) != text {
			t.Errorf("%q has no refs, and became %q", text, got)
		}
	})
}
