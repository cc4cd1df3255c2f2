package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A change of what a reconciler applies is named, whatever its objects are.
func TestSourceChanges(t *testing.T) {
	const flux = `kind: GitRepository
spec: {url: https://example.com/shop, ref: {branch: dev}, interval: 1m}
---
kind: Kustomization
spec: {path: ./t1, prune: true}
`
	for name, test := range map[string]struct {
		old, now string
		want     []string
	}{
		"the same":       {flux, flux + "# a comment\n", nil},
		"a path":         {flux, strings.ReplaceAll(flux, "./t1", "./"), []string{"path ./t1 -> ./"}},
		"a branch":       {flux, strings.ReplaceAll(flux, "branch: dev", "tag: v1"), []string{"branch dev -> (not set)", "tag (not set) -> v1"}},
		"an interval":    {flux, strings.ReplaceAll(flux, "1m", "2m"), nil},
		"an Application": {"spec: {source: {repoURL: a, targetRevision: dev, path: x}}", "spec: {source: {repoURL: b, targetRevision: main, path: x}}", []string{"repository a -> b", "branch dev -> main"}},
		"a new file":     {"", flux, nil},
	} {
		var got []string
		for _, c := range sourceChanges([]byte(test.old), []byte(test.now)) {
			got = append(got, c.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
