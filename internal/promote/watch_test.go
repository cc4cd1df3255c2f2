package promote_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// TestEnvironmentsWithoutRulesAreRecorded: what becomes of the commits of an environment without rules is recorded,
// so that messages tell it. Nothing is promoted to it, and no status is posted.
func TestEnvironmentsWithoutRulesAreRecorded(t *testing.T) {
	b := newBench(t, map[string]*v1alpha1.Promotion{}, "one", "two")
	qa := promote.EnvironmentState{Environment: "qa", Follows: true, GitOps: hub.Source{Repository: "https://git.example/platform/gitops", Ref: "qa"}}
	publish(&qa, sha("one"))
	b.fakePipeline.reading.Watched = []promote.EnvironmentState{qa}
	join(t, b.ledger, "c", "qa")
	b.round()
	reports(t, b.ledger, "qa", revision("qa", sha("one")), b.now, "c")
	b.round()
	publish(&b.fakePipeline.reading.Watched[0], sha("two"))
	b.round()
	fails(t, b.ledger, "qa", revision("qa", sha("two")), b.now, "c")
	b.round()
	b.round()
	steps, err := b.ledger.Steps(t.Context(), ledger.StepQuery{Environment: "qa"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range steps {
		if s := steps[len(steps)-1-i]; s.Kind != string(promote.StateChanged) {
			got = append(got, s.Kind+" "+s.Commit[:6]+" "+s.Reason)
		}
	}
	one, two := sha("one")[:6], sha("two")[:6]
	want := []string{
		"started " + one + " ", "published " + one + " the GitOps branch has its manifests", "deployed " + one + " ",
		"started " + two + " ", "published " + two + " the GitOps branch has its manifests",
		"failed " + two + " c fails at " + revision("qa", sha("two"))[:7] + ": it cannot be applied",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if len(b.fakePipeline.moves) > 0 || b.fakePipeline.posted > 0 {
		t.Errorf("moved %v, posted %d statuses", b.fakePipeline.moves, b.fakePipeline.posted)
	}
	if last := b.reasons("qa", promote.StateChanged); len(last) == 0 || !strings.Contains(last[len(last)-1], "failed: c fails at") {
		t.Errorf("states %q", last)
	}
}
