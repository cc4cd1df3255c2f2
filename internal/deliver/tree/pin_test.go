package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/deliver/tree"
)

// TestPinsInAnInventoryAreChecked checks that anyone who can push to the branch can pin a target to nothing but a commit.
func TestPinsInAnInventoryAreChecked(t *testing.T) {
	const inventory = `{"version": %d, "workload": "hello", "build": {"commit": "c"}, "targets": {"a": {"folder": "a", %s "files": {}}}}`
	commit := strings.Repeat("a", 40)
	for name, tc := range map[string]struct {
		version int
		pin     string
		want    tree.Pin
		err     string
	}{
		"a commit":            {2, `"pinned": "` + commit + `",`, tree.Pin{Revision: commit}, ""},
		"uninstalled":         {2, `"uninstalled": true,`, tree.Pin{Uninstalled: true}, ""},
		"nothing":             {1, ``, tree.Pin{}, ""},
		"a branch":            {2, `"pinned": "main",`, tree.Pin{}, "which is not a commit"},
		"a path":              {2, `"pinned": "../../../../../../../../../../../../../..",`, tree.Pin{}, "which is not a commit"},
		"both":                {2, `"pinned": "` + commit + `", "uninstalled": true,`, tree.Pin{}, "which is not a commit"},
		"of a newer Kalypso":  {3, ``, tree.Pin{}, "a newer Kalypso wrote it"},
		"of no known version": {0, ``, tree.Pin{}, "not one this program knows"},
	} {
		t.Run(name, func(t *testing.T) {
			targets, build, err := tree.ParseInventory(fmt.Appendf(nil, inventory, tc.version, tc.pin), "hello")
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil || len(targets) != 1 || targets[0].Pin != tc.want || build.Commit != "c" {
				t.Errorf("got %+v %+v, %v", targets, build, err)
			}
		})
	}
}

// TestReplacedRequestsInAnInventoryAreChecked: they are in messages of commits, where a line can say what a commit was made from.
func TestReplacedRequestsInAnInventoryAreChecked(t *testing.T) {
	const inventory = `{"version": 1, "workload": "hello", "targets": {"a": {"folder": "a", "files": {}, "request": {"by": "ada\nKalypso-Inputs: a", "instead": [
		{"by": "bob"}, {"revision": "main\n\nKalypso-Inputs: config@%[1]s"}, {"revision": "%[1]s", "uninstalled": true}, {"revision": "%[1]s"}, {"uninstalled": true}]}}}}`
	commit := strings.Repeat("a", 40)
	targets, _, err := tree.ParseInventory(fmt.Appendf(nil, inventory, commit), "hello")
	if err != nil {
		t.Fatal(err)
	}
	want := tree.Request{By: "ada Kalypso-Inputs: a", Instead: []tree.Replaced{{By: "bob"}, {Pin: tree.Pin{Revision: commit}}, {Pin: tree.Pin{Uninstalled: true}}}}
	if got := targets[0].Request; !got.Same(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestPinnedTargetIsNotRendered checks that a pinned target has the files of its revision, and that one whose revision cannot be read is held.
func TestPinnedTargetIsNotRendered(t *testing.T) {
	b := branch{}
	b.apply(tree.Build(wanted(target("a", "1"), target("b", "1")), nil).Changes())
	before := b["a/manifests.yaml"]
	pinned := target("a", "2")
	pinned.Pin = tree.Pin{Revision: strings.Repeat("a", 40)}
	pinned.Kept = b.published(t).Targets[0].Files
	w := wanted(pinned, target("b", "2"))
	b.apply(tree.Build(w, b.published(t)).Changes())
	if b["a/manifests.yaml"] != before || !strings.Contains(b["b/manifests.yaml"], "2") {
		t.Errorf("got %q and %q", b["a/manifests.yaml"], b["b/manifests.yaml"])
	}
	if got := b.published(t).Pins(); len(got) != 1 || got["a"] != pinned.Pin {
		t.Errorf("got the pins %v", got)
	}
	if got := tree.Build(w, b.published(t)).Changes(); len(got) > 0 {
		t.Errorf("a second run changes %s", changes(got))
	}
	w.Targets[0].Pin, w.Targets[0].Kept, w.Targets[0].PinProblem = tree.Pin{Revision: strings.Repeat("b", 40)}, nil, fmt.Errorf("it is not on the branch")
	if built := tree.Build(w, b.published(t)); built.Targets[0].Held == nil || b["a/manifests.yaml"] != before {
		t.Errorf("it is not held: %+v", built.Targets[0])
	}

	// Of the others, nothing changes.
	w = wanted(target("b", "3"), target("c", "1"))
	w.Only = map[string]bool{"c": true}
	if got, want := changes(tree.Build(w, b.published(t)).Changes()), "c/"; !strings.Contains(got, want) || strings.Contains(got, "b/") || strings.Contains(got, "a/") {
		t.Errorf("got %s", got)
	}
}
