package promote

import (
	"fmt"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestThePastIsNoLongerThanItsCarriers reports two clusters for long, one of which says something new each minute. What ended before the first
// carrier is forgotten, and what is in force is not, however old it is.
func TestThePastIsNoLongerThanItsCarriers(t *testing.T) {
	begin := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	state := func(cluster string, at time.Time, message string) ledger.ReconcilerState {
		return ledger.ReconcilerState{
			Reconciler: ledger.ReconcilerID{Cluster: cluster, Kind: "Kustomization", Name: "platform"}, Since: at,
			Outcome: ledger.Outcome{Source: ledger.Source{Repository: "https://git.example/gitops", Ref: "dev"}, State: ledger.StateReady, Message: message},
		}
	}
	p := &past{inForce: map[ledger.ReconcilerID]int{}, heard: map[string]time.Time{}, carriers: map[carrierKey]*judged{{commit: "old"}: {}}}
	p.silences = []comply.Silence{{Cluster: "b", From: begin, To: begin.Add(time.Minute)}}
	const rounds, window = 10 * minCut, 100 * time.Minute
	for n := range rounds {
		now := begin.Add(time.Duration(n) * time.Minute)
		p.update(question{states: []ledger.ReconcilerState{state("a", begin, "steady"), state("b", now, fmt.Sprint(n))}}, now)
		p.cut([]decide.Carrier{{Commit: "new", Entered: now.Add(-window)}})
		if len(p.outcomes) > 2*minCut {
			t.Fatalf("after %d rounds, there are %d outcomes", n, len(p.outcomes))
		}
	}
	end := begin.Add((rounds - 1) * time.Minute)
	for cluster, message := range map[string]string{"a": "steady", "b": fmt.Sprint(rounds - 1)} {
		o := p.outcomes[p.inForce[state(cluster, end, "").Reconciler]]
		if o.Cluster != cluster || o.Message != message || !o.Until.IsZero() {
			t.Errorf("in force of %s is %+v", cluster, o)
		}
	}
	known := 0
	for _, o := range p.outcomes {
		if o.Cluster == "b" && o.Since.After(end.Add(-window)) {
			known++
		}
	}
	if known != 100 || len(p.silences) != 0 || len(p.carriers) != 0 {
		t.Errorf("kept %d outcomes of the carrier, %v, %v", known, p.silences, p.carriers)
	}
}
