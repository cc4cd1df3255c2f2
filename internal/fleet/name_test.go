package fleet_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// TestShorten checks that a short name is kept, that a long one becomes a label of the given length, and that
// different names stay different.
func TestShorten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,100}[a-z0-9])?`).Draw(t, "name")
		got := fleet.Shorten(name, fleet.MaxLabel)
		if len(name) <= fleet.MaxLabel {
			if got != name {
				t.Fatalf("%q became %q", name, got)
			}
			return
		}
		if errs := validation.IsDNS1123Label(got); len(errs) > 0 {
			t.Fatalf("%q is no label: %v", got, errs)
		}
		if other := fleet.Shorten(name+"a", fleet.MaxLabel); other == got {
			t.Fatalf("%q and %q are both %q", name, name+"a", got)
		}
	})
	if got, want := fleet.Shorten(strings.Repeat("a", 64), 63), strings.Repeat("a", 54)+"-ffe054fe"; got != want {
		t.Errorf("Shorten changed: got %q, want %q; published folders would be renamed", got, want)
	}
}

func TestCleanPath(t *testing.T) {
	for path, want := range map[string]string{
		"": "", ".": "", "./": "", "./x": "x", "x/": "x", "x//y/.": "x/y", "a..b": "a..b",
	} {
		if got, err := fleet.CleanPath(path); err != nil || got != want {
			t.Errorf("CleanPath(%q) = %q, %v, want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"/", "/x", "..", "../x", "a/../b", "a\nb", "a\x00", "a/.git/hooks", ".GIT"} {
		if got, err := fleet.CleanPath(path); err == nil {
			t.Errorf("CleanPath(%q) = %q, want an error", path, got)
		}
	}
}
