package carry

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPlatformName is at most as long as Zarf allows, and another one than those that a component has.
func TestPlatformName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`)
		target := label.Draw(t, "target")
		taken := []string{target, label.Draw(t, "other")}
		var manifests []any
		for range rapid.IntRange(0, 3).Draw(t, "taken") {
			for _, name := range taken {
				manifests = append(manifests, map[string]any{"name": name})
			}
			name := platformName(target, manifests)
			if len(name) > 40 || slices.Contains(taken, name) || name != platformName(target, manifests) {
				t.Errorf("target %q has manifests %q of %d bytes beside %q", target, name, len(name), taken)
			}
			taken = append(taken, name)
		}
	})
	for target, want := range map[string]string{
		"shop-prod":                        "shop-prod-platform",
		"hello-world-app-performance-test": "hello-world-app-performance-tes-30f148e1",
	} {
		if got := platformName(target, nil); got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
}
