package promote

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestOrderOfStepsDoesNotMatter checks that late and repeated steps of other servers give the same state.
func TestOrderOfStepsDoesNotMatter(t *testing.T) {
	kinds := []decide.StepKind{
		decide.StepStarted, decide.StepDeployed, decide.StepFailed, Published, Paused, Resumed, Aborted, Requested, Completed, StateChanged, StatusPosted, Proposed, "odd",
	}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		var steps []ledger.Step
		for i := range rapid.IntRange(0, 20).Draw(t, "steps") {
			at := begin.Add(time.Duration(i) * time.Second)
			commit := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "commit")
			d, _ := json.Marshal(Detail{Revision: commit, On: commit, Request: orderID(begin.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "order")) * time.Second))})
			steps = append(steps, ledger.Step{
				PromotionID: ledger.PromotionID{Subject: "s", Commit: commit, Environment: "dev"},
				Kind:        string(rapid.SampledFrom(kinds).Draw(t, "kind")), At: at, Detail: d, By: "anna",
			})
		}
		read := func(steps []ledger.Step) decide.Environment {
			j := journal{pages: map[string]*page{}, seen: map[stepKey]bool{}}
			for _, s := range steps {
				j.absorb(s)
			}
			return j.page("dev").environment(EnvironmentState{Environment: "dev", Commit: "a"})
		}
		want := read(steps)
		got := read(rapid.Permutation(append(slices.Clone(steps), steps...)).Draw(t, "order"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("facts (-in order +mixed):\n%s", diff)
		}
	})
}
