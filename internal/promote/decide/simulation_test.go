package decide_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestWorld runs random fleets with failures, delays, interrupted rounds, outdated facts, clock steps, forced pushes
// and users who change their minds. It checks the invariants at each step.
func TestWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(0, 60).Draw(t, "rounds") {
			w.advance()
			w.look()
			decisions := w.decide()
			if rapid.IntRange(0, 4).Draw(t, "meanwhile") == 0 {
				w.advance() // the facts are outdated when the actions are carried out
				w.look()
			}
			actions := allActions(decisions)
			w.apply(actions[:rapid.IntRange(0, len(actions)).Draw(t, "killed after")])
		}
		w.settle()
	})
}

// decide calls the engine twice, and checks that both results are equal.
func (w *world) decide() []decide.Decision {
	f := w.facts()
	decisions := decide.Decide(f, w.now)
	slices.Reverse(f.Environments)
	if diff := cmp.Diff(decisions, decide.Decide(f, w.now)); diff != "" {
		w.Fatalf("the same facts in another order (-first +second):\n%s", diff)
	}
	for _, d := range decisions {
		if d.Reason == "" || !d.Next.IsZero() && !d.Next.After(w.now) {
			w.Fatalf("no reason, or asks to look again in the past: %+v", d)
		}
	}
	return decisions
}

func allActions(decisions []decide.Decision) []decide.Action {
	var actions []decide.Action
	for _, d := range decisions {
		actions = append(actions, d.Actions...)
	}
	return actions
}

// advance moves the clock and causes random events.
func (w *world) advance() {
	w.look() // the clusters have run what they run until now
	w.pass(time.Duration(rapid.IntRange(1, 40).Draw(w.T, "minutes")) * time.Minute)
	w.hear()
	for range rapid.IntRange(1, 4).Draw(w.T, "events") {
		e := rapid.SampledFrom(w.envs).Draw(w.T, "where")
		switch rapid.IntRange(0, 13).Draw(w.T, "event") {
		case 0:
			w.push(rapid.IntRange(0, 2).Draw(w.T, "bad") == 0)
		case 1, 2, 3:
			w.deliver(e, rapid.IntRange(0, 5).Draw(w.T, "delivery"))
		case 4, 5, 6:
			for _, c := range e.clusters {
				if rapid.Bool().Draw(w.T, "follows") {
					w.follow(e, c)
				}
			}
		case 7:
			w.people(e)
		case 8:
			for _, c := range e.clusters {
				c.cut = rapid.Bool().Draw(w.T, "cut")
			}
			w.hear()
		case 9:
			for _, c := range e.clusters {
				// What breaks while nobody can hear of it, nobody can know.
				c.failed = rapid.IntRange(0, 3).Draw(w.T, "breaks") == 0 && !c.cut || c.failed
				w.report(e, c)
			}
		case 10:
			w.look()
			if rapid.Bool().Draw(w.T, "clock set back") {
				w.behind += time.Hour
			} else {
				w.pass(time.Hour)
			}
		case 11:
			w.line = w.line[:rapid.IntRange(0, len(w.line)).Draw(w.T, "pushed over from")]
			w.push(false)
		case 12, 13:
			e.answerProposal(w, rapid.IntRange(0, 3).Draw(w.T, "turned down") == 0)
		}
	}
}

// pass lets time pass. After the clock was set back, it first reaches again what it said before: until then, rounds use that time.
func (w *world) pass(d time.Duration) {
	again := min(w.behind, d)
	w.behind -= again
	w.now = w.now.Add(d - again)
}

// deliver moves the manifests of an environment to the next state, or refuses them.
func (w *world) deliver(e *simEnvironment, luck int) {
	r := &e.Rollout
	switch {
	case e.Commit == "" || r.State == decide.RolloutClosed:
	case luck == 0 && r.State == decide.RolloutOpen:
		r.State = decide.RolloutClosed
	case luck == 0 && r.State == decide.RolloutNone:
		r.State = decide.RolloutRefused
	case r.State == decide.RolloutOpen || luck == 1 && r.State == decide.RolloutMerged: // in the second case, the manifests of the same commit change
		revision := fmt.Sprintf("%x%039x", len(e.Name), len(e.revisions)+1)
		e.revisions = append(e.revisions, revision)
		e.carries[revision], e.merged = e.Commit, w.now
		if n := len(e.Carriers); n > 0 {
			e.Carriers[n-1].Left = w.now
		}
		e.Carriers = append(e.Carriers, decide.Carrier{Commit: e.Commit, Revision: revision, Entered: w.now})
		*r = decide.Rollout{State: decide.RolloutMerged, Commit: revision}
	case r.State != decide.RolloutMerged:
		r.State = decide.RolloutOpen
	}
}

// follow makes a cluster apply its branch.
func (w *world) follow(e *simEnvironment, c *cluster) {
	if len(e.revisions) > 0 && !c.cut {
		c.revision = e.revision()
		c.failed = w.bad[e.carries[c.revision]] == e.Name
		w.report(e, c)
	}
}

// hear lets the server hear of all clusters that are not cut off, and writes down how long it did not.
func (w *world) hear() {
	for _, e := range w.envs {
		for _, c := range e.clusters {
			if c.cut || w.behind > 0 { // the ledger ignores what seems to be older than what it has
				continue
			}
			if w.now.Sub(c.heard) > comply.DefaultOfflineAfter && c.wasCut {
				e.silences = append(e.silences, comply.Silence{Cluster: c.name, From: c.heard, To: w.now})
			}
			c.heard, c.wasCut = w.now, false
			w.report(e, c)
		}
	}
	for _, c := range w.clusters() {
		c.wasCut = c.wasCut || c.cut
	}
}

func (w *world) people(e *simEnvironment) {
	commit := rapid.SampledFrom(w.line).Draw(w.T, "which")
	switch rapid.IntRange(0, 6).Draw(w.T, "says") {
	case 0:
		e.Pause = &decide.Pause{By: "anna", At: w.now}
	case 1:
		e.Aborts = append(e.Aborts, decide.Abort{Commit: commit, By: "anna"})
	case 2:
		e.Request = &decide.Request{ID: "1", Commit: commit, By: "anna", At: w.now}
		e.Requested = maps.Clone(e.Requested)
		e.Requested[commit] = w.now
	case 3:
		if e.Commit != "" {
			e.Rollbacks = append(slices.Clone(e.Rollbacks), decide.Rollback{Commit: e.Commit, By: "anna", At: w.now, Fast: rapid.Bool().Draw(w.T, "fast")})
		}
	default:
		e.Pause, e.Aborts, e.Request = nil, nil, nil
	}
}

// answerProposal merges or closes the open proposal.
func (e *simEnvironment) answerProposal(w *world, turnedDown bool) {
	for i, p := range e.Proposals {
		if p.State != decide.ProposalOpen || p.From != e.Commit {
			continue
		}
		e.Proposals = slices.Clone(e.Proposals)
		if turnedDown {
			e.Proposals[i].State = decide.ProposalClosed
			return
		}
		e.Proposals = slices.Delete(e.Proposals, i, i+1)
		e.name(w, p.Commit)
		return
	}
}

func (w *world) clusters() []*cluster {
	var all []*cluster
	for _, e := range w.envs {
		all = append(all, e.clusters...)
	}
	return all
}

// checkEnters checks that a commit is promoted only after it ran in all earlier environments.
func (w *world) checkEnters(e *simEnvironment, commit string) {
	for _, before := range e.rules.After {
		if !w.simEnvironment(before).ran[commit] {
			w.Fatalf("%s enters %s and never ran in %s", commit, e.Name, before)
		}
	}
}

// checkPromote checks that no commit is overtaken, that an older commit is promoted only on request, and that nothing returns that was taken
// back here or before.
func (w *world) checkPromote(e *simEnvironment, a decide.Promote) {
	if e.Commit != a.From {
		return // based on outdated facts, and skipped
	}
	for _, c := range e.seen.Carriers {
		requested := e.seen.Request != nil && e.seen.Request.Commit == a.Commit
		if !requested && slices.Index(w.line, c.Commit) >= slices.Index(w.line, a.Commit) && slices.Contains(w.line, a.Commit) {
			w.Fatalf("%s enters %s, which had %s already", a.Commit, e.Name, c.Commit)
		}
	}
	w.checkTakenBack(e, a.Commit)
	for _, before := range e.rules.After {
		w.checkTakenBack(w.simEnvironment(before), a.Commit)
	}
	// A user can change a decision after the engine read it: the decision that the engine saw counts.
	refused := e.seen.Rollout.State == decide.RolloutRefused || e.seen.Rollout.State == decide.RolloutClosed
	left := slices.ContainsFunc(e.seen.Aborts, func(ab decide.Abort) bool { return ab.Commit == e.Commit }) ||
		slices.ContainsFunc(e.seen.Rollbacks, func(b decide.Rollback) bool { return b.Commit == e.Commit })
	if e.Commit != "" && !e.ran[e.Commit] && !w.gaveUp(e) && !refused && !left && len(e.clusters) > 0 {
		w.Fatalf("%s overtakes %s in %s", a.Commit, e.Commit, e.Name)
	}
}

// gaveUp reports whether the rollout of an environment failed, or is late.
func (w *world) gaveUp(e *simEnvironment) bool {
	late := e.seen.Verdict.Result == comply.TimedOut
	broken := slices.ContainsFunc(e.past, func(o comply.Past) bool { return o.State == hub.StateFailed })
	return late || broken || len(e.rules.Verify) > 0 && e.failures(e.Rollout.Commit) > e.rules.Verify[0].FailureLimit
}

// checkTakenBack checks that a commit was not taken back, or was requested since.
func (w *world) checkTakenBack(e *simEnvironment, commit string) {
	for _, b := range e.seen.Rollbacks {
		if b.Commit == commit && !e.seen.Requested[commit].After(b.At) {
			w.Fatalf("%s enters again, which was taken back in %s", commit, e.Name)
		}
	}
}

// checkBack checks that an environment goes back only to what really ran there.
func (w *world) checkBack(e *simEnvironment, a decide.ProposeRollback) {
	named := func(b decide.Rollback) bool { return b.To == a.To } // a user may go back to any commit
	if e.Commit != a.From || slices.ContainsFunc(e.Rollbacks, named) {
		return
	}
	if w.checkTakenBack(e, a.To); !e.ran[a.To] && e.Rollout.State == decide.RolloutMerged {
		w.Fatalf("%s goes back to %s, which never ran there", e.Name, a.To)
	}
}

// settle ends all faults, adds a last good commit, and checks that it is deployed wherever possible.
func (w *world) settle() {
	w.push(false)
	last := w.line[len(w.line)-1]
	for _, e := range w.envs {
		e.Pause, e.Aborts, e.Request = nil, nil, nil
	}
	w.quiet()
	for range 150 {
		w.pass(20 * time.Minute)
		for _, e := range w.envs {
			e.answerProposal(w, false)
			if e.Rollout.State != decide.RolloutMerged {
				w.deliver(e, 5)
			}
			for _, c := range e.clusters {
				c.cut = false
			}
			w.hear()
			for _, c := range e.clusters {
				w.follow(e, c)
			}
		}
		w.look()
		w.apply(allActions(w.decide()))
	}
	w.look()
	for _, d := range w.decide() {
		e := w.simEnvironment(d.Environment)
		if want := w.reachable(e); (e.Commit == last) != want || want && d.State.Deployed() == w.withoutClusters(e) || len(d.Actions) > 0 {
			w.Fatalf("the end in %s: %s at %s, want the last commit: %v; %s %v", d.Environment, d.State, e.Commit, want, d.Reason, d.Actions)
		}
	}
}

// quiet carries out decisions without other events: after a few rounds there must be no actions left.
func (w *world) quiet() {
	w.look()
	for range 12 {
		actions := allActions(w.decide())
		if len(actions) == 0 {
			return
		}
		w.apply(actions)
		w.look()
	}
	w.Fatalf("it does not come to rest: %v", allActions(w.decide()))
}

func (w *world) withoutClusters(e *simEnvironment) bool {
	return len(e.clusters) == 0 && !e.rules.Gate.AllowNone
}

// reachable reports whether a commit can be promoted to an environment: all earlier environments have clusters.
func (w *world) reachable(e *simEnvironment) bool {
	for _, before := range e.rules.After {
		if b := w.simEnvironment(before); w.withoutClusters(b) || !w.reachable(b) {
			return false
		}
	}
	return true
}

// TestChainsOfAnyShape checks that a chain contains each environment once, after its predecessors unless that is a problem.
func TestChainsOfAnyShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-e]`), 1, 5, rapid.ID[string]).Draw(t, "names")
		var stages []decide.Stage
		for _, name := range names {
			after := rapid.SliceOfN(rapid.StringMatching(`[a-f]`), 0, 2).Draw(t, "after")
			stages = append(stages, decide.Stage{Name: name, Promotion: &v1alpha1.Promotion{After: after}})
		}
		chain, problems := decide.NewChain(stages, nil)
		other, _ := decide.NewChain(rapid.Permutation(stages).Draw(t, "order"), nil)
		if diff := cmp.Diff(chain.Names(), other.Names()); diff != "" {
			t.Fatalf("the order of environments matters (-got +other):\n%s", diff)
		}
		ordered := chain.Names()
		if slices.Sort(names); !slices.Equal(slices.Sorted(slices.Values(ordered)), names) {
			t.Fatalf("got %v of %v", ordered, names)
		}
		for _, name := range ordered {
			rules, _ := chain.Rules(name)
			for _, before := range rules.After {
				inOrder := slices.Contains(ordered[:slices.Index(ordered, name)], before)
				if !inOrder && len(problems) == 0 {
					t.Fatalf("%s comes before %s in %v, and there is no problem", name, before, ordered)
				}
			}
		}
		if len(problems) > 0 && slices.ContainsFunc(problems, func(p fleet.Problem) bool { return p.Hint == "" || p.Object.Name == "" }) {
			t.Fatal("a problem without an object or a hint", problems)
		}
	})
}

// TestInconsistentFacts checks that inconsistent facts still give a decision with a reason for every environment.
func TestInconsistentFacts(t *testing.T) {
	words := rapid.SampledFrom([]string{"", "a", "b", "c", "d"})
	at := rapid.Custom(func(t *rapid.T) time.Time { return clock("10:10").Add(time.Duration(rapid.Int64().Draw(t, "at"))) })
	standing := rapid.SampledFrom([]comply.Standing{comply.StandingHolds, comply.StandingFailed, comply.StandingLost, comply.StandingNoClusters, "odd"})
	spans := rapid.Custom(func(t *rapid.T) comply.Span {
		return comply.Span{From: at.Draw(t, "from"), To: at.Draw(t, "to"), Standing: standing.Draw(t, "standing")}
	})
	carriers := rapid.Custom(func(t *rapid.T) decide.Carrier {
		return decide.Carrier{
			Commit: words.Draw(t, "commit"), Revision: words.Draw(t, "revision"), Entered: at.Draw(t, "entered"), Left: at.Draw(t, "left"),
			Spans: rapid.SliceOfN(spans, 0, 3).Draw(t, "spans"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		f := decide.Facts{Chain: w.chain, Line: rapid.SliceOfN(words, 0, 5).Draw(t, "line")}
		for _, name := range append(w.chain.Names(), "other") {
			e := decide.Environment{
				Name: name, Commit: words.Draw(t, "commit"), Head: words.Draw(t, "head"), Carriers: rapid.SliceOf(carriers).Draw(t, "carriers"), Rings: rapid.Bool().Draw(t, "rings"),
				Rollout: decide.Rollout{Commit: words.Draw(t, "rollout"), State: decide.RolloutState(rapid.SampledFrom([]string{"", "refused", "open", "closed", "merged", "odd"}).Draw(t, "state"))},
				Aborts:  []decide.Abort{{Commit: words.Draw(t, "aborted")}}, Rollbacks: []decide.Rollback{{Commit: words.Draw(t, "taken back"), To: words.Draw(t, "to")}}, Request: &decide.Request{Commit: words.Draw(t, "ordered")},
			}
			e.Verdict.Commit, e.Verdict.Result = e.Rollout.Commit, comply.Result(rapid.SampledFrom([]string{"", "passed", "waiting", "failed", "timedOut", "nobody", "odd"}).Draw(t, "result"))
			f.Environments = append(f.Environments, e)
		}
		for i, d := range decide.Decide(f, at.Draw(t, "now")) {
			if d.Environment != w.chain.Names()[i] || d.Reason == "" || d.State == "" {
				t.Fatalf("no answer: %+v", d)
			}
			_ = fmt.Sprint(d.Actions)
		}
	})
}
