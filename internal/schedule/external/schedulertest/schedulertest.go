// Package schedulertest has the tests that every implementation of external.Scheduler passes.
package schedulertest

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// Behaviour is how the other side of a scheduler behaves.
type Behaviour string

// Behaviours of the other side.
const (
	// Chooses assigns the target shop-web to the cluster type small, for the reason "cheap", and refuses large as an extender.
	Chooses Behaviour = "chooses"
	// Fails has no answer.
	Fails Behaviour = "fails"
	// Hangs never answers.
	Hangs Behaviour = "hangs"
	// Garbles answers with something that cannot be understood.
	Garbles Behaviour = "garbles"
)

// Fleet is one target and two cluster types. The policy asks the scheduler "tested".
func Fleet() *fleet.Snapshot {
	return &fleet.Snapshot{
		Environment:  "dev",
		ClusterTypes: []*fleet.ClusterType{{Name: "large"}, {Name: "small"}},
		Targets:      []*fleet.Target{{Name: "shop-web", Workload: "shop", ShortName: "web"}},
		Policies: []*fleet.Policy{{
			Name: "chosen", Targets: labels.Everything(), ClusterTypes: labels.Everything(), Scheduler: "tested",
		}},
	}
}

// Run runs the tests. start returns a scheduler with another side that behaves in a certain way.
func Run(t *testing.T, start func(t *testing.T, b Behaviour) external.Scheduler) {
	ask := func(t *testing.T, s *fleet.Snapshot, b Behaviour, timeout time.Duration) placement.Answer {
		t.Helper()
		asker := &external.Asker{Schedulers: map[string]external.Configured{"tested": {Scheduler: start(t, b), Timeout: timeout}}}
		asked, err := asker.Ask(t.Context(), external.Input{Snapshot: s})
		if err != nil {
			t.Fatal(err)
		}
		if recorded := asked.Recorded["chosen"] != nil; recorded != (b == Chooses) {
			t.Errorf("%s: the answer is recorded: %v", b, recorded)
		}
		return asked.Answers["chosen"]
	}
	small, large := placement.Pair{Target: "shop-web", ClusterType: "small"}, placement.Pair{Target: "shop-web", ClusterType: "large"}
	t.Run("it chooses", func(t *testing.T) {
		answer := ask(t, Fleet(), Chooses, time.Minute)
		if _, ok := answer.Pairs[small]; answer.Err != nil || !ok || len(answer.Pairs) != 1 || answer.Pairs[small].Reason == "" {
			t.Errorf("got %+v", answer)
		}
	})
	t.Run("it extends", func(t *testing.T) {
		s := Fleet()
		s.Policies[0].Scheduler, s.Policies[0].Extenders = fleet.DefaultScheduler, []v1alpha1.Extender{{Name: "tested"}}
		extension := ask(t, s, Chooses, time.Minute).Extenders["tested"]
		if extension.Err != nil || len(extension.Refused) != 1 || extension.Refused[large] == "" {
			t.Errorf("got %+v", extension)
		}
	})
	for _, b := range []Behaviour{Fails, Hangs, Garbles} {
		t.Run("it "+string(b), func(t *testing.T) {
			timeout := time.Minute
			if b == Hangs {
				timeout = 50 * time.Millisecond
			}
			answer := ask(t, Fleet(), b, timeout)
			var why *placement.Unanswered
			if !errors.As(answer.Err, &why) || why.Hint == "" || len(answer.Pairs) > 0 {
				t.Errorf("got %+v", answer)
			}
		})
	}
}
