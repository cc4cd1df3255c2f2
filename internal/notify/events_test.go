package notify_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/notify"
	"github.com/kalypso-io/kalypso/internal/notify/message"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestEvents lists what steps tell. Events with the same ID are listed once.
func TestEvents(t *testing.T) {
	started := func(minute int, commit string) ledger.Step {
		return step(minute, decide.StepStarted, commit, promote.Detail{})
	}
	deployed := func(minute int, commit string) ledger.Step {
		return step(minute, decide.StepDeployed, commit, promote.Detail{Revision: "r" + commit})
	}
	failed := func(minute int, commit, cause string) ledger.Step {
		return step(minute, decide.StepFailed, commit, promote.Detail{Revision: "r" + commit, Failure: cause})
	}
	command := func(minute int, kind decide.StepKind, commit, why string) ledger.Step {
		s := step(minute, kind, commit, promote.Detail{})
		s.By, s.Reason = "ada", why
		return s
	}
	asks := func(minute int, commit, candidate string, asks ...string) ledger.Step {
		return step(minute, promote.StateChanged, commit, promote.Detail{Phase: decide.Good, Candidate: strings.Repeat(candidate, 40), Asks: asks})
	}
	verifying := func(minute int, revision string) ledger.Step {
		return step(minute, promote.StateChanged, "a", promote.Detail{Phase: decide.Checking, Revision: revision, Asks: []string{"approve"}})
	}
	for name, tc := range map[string]struct {
		steps []ledger.Step
		want  []string
	}{
		"deployed": {[]ledger.Step{started(1, "a"), deployed(2, "a")}, []string{"done aaaaaaa"}},
		"recorded by two servers": {
			[]ledger.Step{started(1, "a"), started(2, "a"), deployed(3, "a"), deployed(4, "a")}, []string{"done aaaaaaa"},
		},
		"a failure has one message, however often it is described": {
			[]ledger.Step{
				started(1, "a"), failed(2, "a", "large-01 fails"), failedWith(3, "a", "large-01 fails"), failedWith(5, "a", "large-01 fails"),
			},
			[]string{"failed aaaaaaa: large-01 fails"},
		},
		"another cause": {
			[]ledger.Step{started(1, "a"), failed(2, "a", "no image"), failedWith(3, "a", "no memory"), failedWith(4, "a", "no image")},
			[]string{"failed aaaaaaa: no image", "failed aaaaaaa: no memory"},
		},
		"repaired, and failed again": {
			[]ledger.Step{started(1, "a"), failed(2, "a", "no image"), deployed(3, "a"), failed(4, "a", "no image"), failedWith(5, "a", "no image")},
			[]string{"failed aaaaaaa: no image", "done aaaaaaa", "failed aaaaaaa: no image"},
		},
		"rolled back": {
			[]ledger.Step{started(1, "a"), deployed(2, "a"), started(3, "b"), failed(4, "b", "no image"), started(5, "a"), deployed(6, "a")},
			[]string{"done aaaaaaa", "failed bbbbbbb: no image", "rolledBack aaaaaaa from bbbbbbb: bbbbbbb failed: no image", "done aaaaaaa"},
		},
		"taken back by a user": {
			[]ledger.Step{
				started(1, "a"), deployed(2, "a"), started(3, "b"), deployed(4, "b"), command(5, promote.RolledBack, "b", "errors in the shop"), started(6, "a"),
			},
			[]string{"done aaaaaaa", "done bbbbbbb", "rolledBack aaaaaaa from bbbbbbb: bbbbbbb was taken back by ada: errors in the shop"},
		},
		"taken back after a failure": {
			[]ledger.Step{started(1, "a"), started(2, "b"), failed(3, "b", "no image"), command(4, promote.RolledBack, "b", ""), started(5, "a")},
			[]string{"failed bbbbbbb: no image", "rolledBack aaaaaaa from bbbbbbb: bbbbbbb was taken back by ada"},
		},
		"an earlier commit is requested": {
			[]ledger.Step{started(1, "a"), started(2, "b"), command(3, promote.Requested, "a", "b is slow"), started(4, "a")},
			[]string{"rolledBack aaaaaaa from bbbbbbb: aaaaaaa was requested by ada: b is slow"},
		},
		"a command for an earlier rollout of the commit": {
			[]ledger.Step{
				started(1, "a"), started(2, "b"), command(3, promote.RolledBack, "b", "once"), started(4, "a"), started(5, "b"), failed(6, "b", "no image"), started(7, "a"),
			},
			[]string{
				"rolledBack aaaaaaa from bbbbbbb: bbbbbbb was taken back by ada: once", "failed bbbbbbb: no image",
				"rolledBack aaaaaaa from bbbbbbb: bbbbbbb failed: no image",
			},
		},
		"forward again": {
			[]ledger.Step{started(1, "a"), started(2, "b"), started(3, "a"), started(4, "b")},
			[]string{"rolledBack aaaaaaa from bbbbbbb"},
		},
		"asked for": {
			[]ledger.Step{asks(1, "a", "b", "bbbbbbb waits (u)"), asks(2, "a", "b", "bbbbbbb waits (u)"), asks(3, "a", ""), asks(4, "b", "", "bbbbbbb waits (u)", "more")},
			[]string{"waiting bbbbbbb: bbbbbbb waits (u)", "waiting bbbbbbb: more"},
		},
		"an approval for each rollout": {
			[]ledger.Step{verifying(1, "r1"), verifying(2, "r1"), verifying(3, "r2")},
			[]string{"waiting aaaaaaa: approve", "waiting aaaaaaa: approve"},
		},
		"a failure in a ring, which the ring tells": {
			[]ledger.Step{
				started(1, "a"), step(2, decide.StepFailed, "a", promote.Detail{Failure: "no image", InRing: true}),
				step(3, promote.StateChanged, "a", promote.Detail{Phase: decide.Failed, Failure: "no image", InRing: true}), failed(4, "a", "smoke"),
			},
			[]string{"failed aaaaaaa: smoke"},
		},
		"of no commit, and of other programs": {
			[]ledger.Step{step(1, promote.Paused, "*", promote.Detail{}), step(2, "odd", "a", promote.Detail{}), step(3, promote.StatusPosted, "a", promote.Detail{})},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Steps of commands have no commit.
			for i := range tc.steps {
				if tc.steps[i].Commit[0] == '*' {
					tc.steps[i].Commit = promote.EveryCommit
				}
			}
			if diff := cmp.Diff(tc.want, once(notify.Events(tc.steps, tc.steps))); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// once describes events, each ID once.
func once(events []message.Event) []string {
	var all []string
	seen := map[string]bool{}
	for _, e := range events {
		if !seen[e.ID] {
			all = append(all, said(e))
		}
		seen[e.ID] = true
	}
	return all
}

// TestEventsHaveTheSameIDsWheneverTheyAreDerived checks that a call with some of the steps gives some of the events.
func TestEventsHaveTheSameIDsWheneverTheyAreDerived(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var steps []ledger.Step
		for minute := range rapid.IntRange(1, 12).Draw(t, "steps") {
			commit := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "commit")
			kind := rapid.SampledFrom([]decide.StepKind{decide.StepStarted, decide.StepDeployed, decide.StepFailed, promote.StateChanged}).Draw(t, "kind")
			cause := rapid.SampledFrom([]string{"no image", "no memory"}).Draw(t, "cause")
			steps = append(steps, step(minute, kind, commit, promote.Detail{Phase: decide.Failed, Failure: cause, Revision: "r" + commit}))
		}
		whole := notify.Events(steps, steps)
		cut := rapid.IntRange(0, len(steps)).Draw(t, "cut")
		shuffled := rapid.Permutation(steps).Draw(t, "history")
		parts := append(notify.Events(steps[:cut], steps[:cut]), notify.Events(steps[cut:], shuffled)...)
		if diff := cmp.Diff(whole, parts); diff != "" {
			t.Fatalf("in two parts (-whole +parts):\n%s", diff)
		}
	})
}

func TestEventsNameTheApplication(t *testing.T) {
	steps := []ledger.Step{
		stepIn(shop, "prod", 1, decide.StepStarted, "a", promote.Detail{Workspace: "kaizen"}),
		stepIn(shop, "prod", 2, promote.Published, "a", promote.Detail{Version: "1.4.0", Workspace: "kaizen"}),
		stepIn(shop, "prod", 3, decide.StepDeployed, "a", promote.Detail{Revision: "r", Workspace: "kaizen"}),
	}
	events := notify.Events(steps, steps)
	if len(events) != 1 {
		t.Fatalf("got %+v", events)
	}
	if e := events[0]; e.Workload != "shop" || e.Workspace != "kaizen" || e.Version != "1.4.0" || e.Revision != "r" || e.Title() != "shop in prod: 1.4.0 is deployed" {
		t.Errorf("got %+v", e)
	}
}

func TestRoutes(t *testing.T) {
	platform := message.Event{Kind: message.Done, Environment: "prod"}
	ring := message.Event{Kind: message.Failed, Environment: "prod/canary"}
	app := message.Event{Kind: message.Waiting, Environment: "stage", Workload: "shop-web", Workspace: "kaizen"}
	for name, tc := range map[string]struct {
		route notify.Route
		want  []message.Event
	}{
		"everything":       {notify.Route{}, []message.Event{platform, ring, app}},
		"with its rings":   {notify.Route{Environments: []string{"prod"}}, []message.Event{platform, ring}},
		"one ring":         {notify.Route{Environments: []string{"prod/canary"}}, []message.Event{ring}},
		"no other's rings": {notify.Route{Environments: []string{"pro"}}, nil},
		"pattern":          {notify.Route{Environments: []string{"st*"}, Workloads: []string{"shop-*"}}, []message.Event{app}},
		"any application":  {notify.Route{Workloads: []string{"*"}}, []message.Event{app}},
		"workspace":        {notify.Route{Workspaces: []string{"kaizen"}}, []message.Event{app}},
		"kind":             {notify.Route{Kinds: []message.Kind{message.Done, message.Waiting}}, []message.Event{platform, app}},
		"severity":         {notify.Route{Severity: message.Error}, []message.Event{ring}},
		"info":             {notify.Route{Severity: message.Info}, []message.Event{platform, ring, app}},
	} {
		got := slices.DeleteFunc([]message.Event{platform, ring, app}, func(e message.Event) bool { return !tc.route.Matches(e) })
		if diff := cmp.Diff(tc.want, append([]message.Event(nil), got...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestBatchesOfARingTellTheSame checks that a ring that fails and goes back is one event each, however many batches it has, and that the
// environment alone is done.
func TestBatchesOfARingTellTheSame(t *testing.T) {
	ids := map[string]message.Kind{}
	for minute, batch := range []string{"prod/early.0", "prod/early.10", "prod/early.11"} {
		steps := []ledger.Step{
			stepIn("https://git.example/control-plane", batch, 10*minute+1, decide.StepStarted, "a", promote.Detail{}),
			stepIn("https://git.example/control-plane", batch, 10*minute+2, decide.StepDeployed, "a", promote.Detail{Revision: "a"}),
			stepIn("https://git.example/control-plane", batch, 10*minute+3, decide.StepStarted, "b", promote.Detail{}),
			stepIn("https://git.example/control-plane", batch, 10*minute+4, decide.StepFailed, "b", promote.Detail{Revision: "b", Failure: "no image"}),
			stepIn("https://git.example/control-plane", batch, 10*minute+5, decide.StepStarted, "a", promote.Detail{}),
		}
		for _, e := range notify.Events(steps, steps) {
			ids[e.ID] = e.Kind
			if e.Environment != "prod/early" {
				t.Errorf("an event of %s is about %s", batch, e.Environment)
			}
		}
	}
	kinds := slices.Sorted(maps.Values(ids))
	if diff := cmp.Diff([]message.Kind{message.Failed, message.RolledBack}, kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestARingTellsWhoRolledItsEnvironmentBack checks that a rollback of the environment, whose commit is one of main,
// and one of the ring are the reasons why the batches of the ring went back.
func TestARingTellsWhoRolledItsEnvironmentBack(t *testing.T) {
	const subject = "https://git.example/control-plane"
	steps := []ledger.Step{
		stepIn(subject, "prod/early.0", 1, decide.StepStarted, "a", promote.Detail{}),
		stepIn(subject, "prod/early.0", 2, decide.StepStarted, "b", promote.Detail{}),
		stepIn(subject, "prod/early.0", 4, decide.StepStarted, "a", promote.Detail{}),
	}
	for _, about := range []struct{ place, commit string }{{"prod", "c"}, {"prod/early", "b"}} {
		command := stepIn(subject, about.place, 3, promote.RolledBack, about.commit, promote.Detail{})
		command.By, command.Reason = "ada", "errors in the shop"
		got := notify.Events(steps, append([]ledger.Step{command}, steps...))
		if len(got) != 1 || got[0].By != "ada" || got[0].Reason != "bbbbbbb was taken back by ada: errors in the shop" {
			t.Errorf("%s: %+v", about.place, got)
		}
	}
}
