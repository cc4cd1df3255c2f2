package bundle_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// TestHandOver changes a control plane step by step, and publishes each result before the next step. The files of a case:
//
//	1/..., 2/..., 3/...   the control plane of a step, added to that of the earlier ones
//	2/published/...       text that is appended by hand to a file of the GitOps branch before the step
//	golden                the reconciler's file of the only assignment after each step, and the problems
//
// Each result is the same with and without the bundle of the step before, and stays the same once it is published.
func TestHandOver(t *testing.T) {
	casetest.Run(t, "testdata/handover/*.txtar", func(t *testing.T, ar casetest.Case) {
		files, branch := map[string]string{}, map[string]string{}
		var previous *bundle.Bundle
		var got strings.Builder
		for step := 1; ; step++ {
			before := len(got.String())
			for _, f := range ar.Files {
				path, ok := strings.CutPrefix(f.Name, fmt.Sprintf("%d/", step))
				if !ok {
					continue
				}
				if published, byHand := strings.CutPrefix(path, "published/"); byHand {
					branch[published] += string(f.Data)
				} else {
					lay(files, path, string(f.Data))
				}
				before = -1
			}
			if before >= 0 {
				break
			}
			now := snapshot(maps.Clone(files))
			b := bundle.Build(now, read(t, now, branch), previous)
			if diff := cmp.Diff(format(bundle.Build(now, read(t, now, branch), nil)), format(b)); diff != "" {
				t.Errorf("step %d: the result depends on the bundle before (-without +with):\n%s", step, diff)
			}
			branch = apply(branch, b)
			fmt.Fprintf(&got, "== step %d\n%s", step, branch["drone/shop-test/reconciler.yaml"])
			for _, p := range b.Problems {
				fmt.Fprintf(&got, "%s %s: %s\n", p.Severity, p.Kind, p.Message)
			}
			if again := bundle.Build(now, read(t, now, branch), b); len(again.Changes()) > 0 {
				t.Errorf("step %d: published, it changes again:\n%s", step, format(again))
			}
			previous = b
		}
		ar.Golden(t, "golden", got.String())
	})
}
