package bundle_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// TestOnlyRefsDifferInARing checks which values of a file change for a ring: those that name the branch, in objects that follow the repository.
func TestOnlyRefsDifferInARing(t *testing.T) {
	const text = `# prod is what this follows
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: prod, labels: {branch: prod}}
spec:
  url: "https://example.com/shop"
  ref: {branch: "prod"} # prod
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {branch: prod}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop}
spec:
  sources:
  - {targetRevision: prod, repoURL: https://example.com/shop}
  - repoURL: https://example.com/shop
    targetRevision: 'prod'
`
	ref := bundle.Ref{Repo: "https://example.com/shop", Branch: "prod", Rings: []string{"canary", "others"}}
	got, refs := ref.In([]byte(text), "canary")
	want := strings.NewReplacer(
		`ref: {branch: "prod"}`, `ref: {branch: "prod-ring-canary"}`,
		`{targetRevision: prod,`, `{targetRevision: prod-ring-canary,`,
		`targetRevision: 'prod'`, `targetRevision: 'prod-ring-canary'`,
	).Replace(text)
	if string(got) != want || refs != 3 {
		t.Errorf("%d refs, and the file is\n%s", refs, got)
	}
	if got, _ := ref.In([]byte(text), "early"); !strings.Contains(string(got), `"prod-ring-others"`) {
		t.Errorf("a ring that the application does not name is in its last one; the file is\n%s", got)
	}
	for _, broken := range []string{"a: [", "a: prod\n", ""} {
		if got, refs := ref.In([]byte(broken), "canary"); string(got) != broken || refs != 0 {
			t.Errorf("%q became %q with %d refs", broken, got, refs)
		}
	}
}
