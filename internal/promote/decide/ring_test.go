package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// ringWorld is an environment with rings. Its clusters take a while to run what their ring's branch has, and some commits fail on them.
type ringWorld struct {
	*rapid.T
	now    time.Time
	rules  *v1alpha1.Promotion
	stages []*ringStage
	line   []string
	merged map[string]time.Time
	bad    map[string]string // commits that fail on the clusters of a stage
	worse  map[string]bool   // commits that fail everywhere
	skips  []decide.Skip
}

type ringStage struct {
	fleet.Stage
	commit string
	// nights means that the stage is one cluster that is changed only in its windows.
	nights  bool
	had     []decide.Carrier // without spans
	pause   *decide.Pause
	request *decide.Request
	// silent are the times in which its cluster was not heard of; the last one may last.
	silent    []comply.Span
	rollbacks []decide.Rollback
	requested map[string]time.Time
}

// maxDelay is the limit of all rings.
const maxDelay = 100 * time.Minute

// disturbed reports whether a stage is a cluster that may not be changed now.
func (s *ringStage) disturbed(now time.Time) bool {
	switch {
	case s.nights:
		return now.Hour()%2 != 0 || now.Minute() >= 30
	case s.Hold != nil:
		return now.Before(s.Hold.Until.Time)
	default:
		return false
	}
}

// the clusters of a stage run a commit after five minutes, or fail after three.
const (
	runsAfter  = 5 * time.Minute
	failsAfter = 3 * time.Minute
)

func (w *ringWorld) fails(s *ringStage, commit string) bool {
	return w.worse[commit] || w.bad[commit] == s.Name
}

// carriers returns what a stage had, with what its gate said.
func (w *ringWorld) carriers(s *ringStage) []decide.Carrier {
	all := slices.Clone(s.had)
	for i := range all {
		c := &all[i]
		end := w.now
		if !c.Left.IsZero() {
			end = c.Left
		}
		after, standing := runsAfter, comply.StandingHolds
		if w.fails(s, c.Commit) {
			after, standing = failsAfter, comply.StandingFailed
		}
		runs := c.Entered.Add(after)
		if !runs.Before(end) {
			c.Spans = []comply.Span{{From: c.Entered, To: end, Standing: comply.StandingWaiting}}
			continue
		}
		c.Spans = []comply.Span{{From: c.Entered, To: runs, Standing: comply.StandingWaiting}, {From: runs, To: end, Standing: standing}}
		for _, quiet := range s.silent {
			if standing == comply.StandingHolds {
				c.Spans = cutOut(c.Spans, quiet)
			}
		}
	}
	return all
}

// cutOut makes what is known of a time unknown.
func cutOut(spans []comply.Span, quiet comply.Span) []comply.Span {
	last := spans[len(spans)-1]
	from, to := quiet.From, quiet.To
	if to.IsZero() || to.After(last.To) {
		to = last.To
	}
	if from.Before(last.From) {
		from = last.From
	}
	if !from.Before(to) {
		return spans
	}
	spans = append(slices.Clone(spans[:len(spans)-1]), comply.Span{From: last.From, To: from, Standing: comply.StandingHolds},
		comply.Span{From: from, To: to, Standing: comply.StandingUnknown})
	if to.Before(last.To) {
		spans = append(spans, comply.Span{From: to, To: last.To, Standing: comply.StandingHolds})
	}
	return slices.DeleteFunc(spans, func(s comply.Span) bool { return s.From.Equal(s.To) })
}

// quiet reports whether nothing is heard of a stage.
func (s *ringStage) quiet() bool { n := len(s.silent); return n > 0 && s.silent[n-1].To.IsZero() }

// ran returns when a stage first ran a commit; zero if it did not, or it fails there.
func (w *ringWorld) ran(s *ringStage, commit string) time.Time {
	for _, c := range w.carriers(s) {
		for _, span := range c.Spans {
			if c.Commit == commit && span.Standing == comply.StandingHolds && span.To.After(span.From) {
				return span.From
			}
		}
		end := w.now
		if !c.Left.IsZero() {
			end = c.Left // it may have moved in this round
		}
		runs := c.Entered.Add(runsAfter)
		if c.Commit == commit && !w.fails(s, commit) && (end.Equal(runs) || end.Equal(w.now) && !end.Before(runs) && !s.quiet()) {
			return end
		}
	}
	return time.Time{}
}

// proven returns for how long a stage is known to have run a commit, or a later one.
func (w *ringWorld) proven(s *ringStage, commit string) (sum time.Duration) {
	for _, c := range w.carriers(s) {
		for _, span := range c.Spans {
			if w.position(c.Commit) >= w.position(commit) && span.Standing == comply.StandingHolds {
				sum += span.Duration()
			}
		}
	}
	return sum
}

// failed reports whether a commit failed in a stage.
func (w *ringWorld) failed(s *ringStage, commit string) bool {
	for _, c := range s.had {
		end := w.now
		if !c.Left.IsZero() {
			end = c.Left.Add(-1)
		}
		if c.Commit == commit && w.fails(s, commit) && !end.Before(c.Entered.Add(failsAfter)) {
			return true
		}
	}
	return false
}

func newRingWorld(t *rapid.T) *ringWorld {
	w := &ringWorld{T: t, now: clock("06:00"), rules: &v1alpha1.Promotion{}, bad: map[string]string{}, worse: map[string]bool{}, merged: map[string]time.Time{}}
	w.commit()
	for i := range rapid.IntRange(1, 4).Draw(t, "rings") {
		ring := v1alpha1.Ring{Name: fmt.Sprintf("r%d", i), MaxDelay: &metav1.Duration{Duration: maxDelay}}
		if rapid.Bool().Draw(t, "soaks") {
			ring.Soak = &metav1.Duration{Duration: 20 * time.Minute}
		}
		if rapid.IntRange(0, 2).Draw(t, "goes back") == 0 {
			ring.OnFailure = v1alpha1.FailureRollback
		}
		w.rules.Rings = append(w.rules.Rings, ring)
		batches := rapid.IntRange(1, 2).Draw(t, "batches")
		for b := range batches {
			s := fleet.Stage{Name: ring.Name, Ring: ring.Name, Clusters: []string{"c"}}
			if batches > 1 {
				s.Name += fmt.Sprintf(".%d", b)
			}
			w.stages = append(w.stages, &ringStage{Stage: s, commit: w.line[0], had: []decide.Carrier{{Commit: w.line[0], Revision: w.line[0], Entered: w.now}}, requested: map[string]time.Time{}})
		}
		for n := range rapid.IntRange(0, 2).Draw(t, "own stages") {
			s := fleet.Stage{Name: fmt.Sprintf("%s.cluster-c%d", ring.Name, n), Ring: ring.Name, Clusters: []string{fmt.Sprintf("c%d", n)}}
			nights := rapid.Bool().Draw(t, "has windows")
			if nights {
				s.Windows = []v1alpha1.Window{{Cron: "0 */2 * * *", Duration: metav1.Duration{Duration: 30 * time.Minute}}}
			} else {
				until := metav1.NewTime(w.now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "hold")) * time.Minute))
				s.Hold = &v1alpha1.Hold{Reason: "stocktaking", Until: &until}
			}
			w.stages = append(w.stages, &ringStage{Stage: s, nights: nights, commit: w.line[0], had: []decide.Carrier{{Commit: w.line[0], Revision: w.line[0], Entered: w.now}}, requested: map[string]time.Time{}})
		}
	}
	return w
}

func (w *ringWorld) commit() string {
	c := fmt.Sprintf("%07x%033d", len(w.line)+1, 0)
	w.line, w.merged[c] = append(w.line, c), w.now
	return c
}

// verdict is that of a stage's clusters: they need five minutes, and fail after three.
func (w *ringWorld) verdict(i int) comply.Verdict {
	s := w.stages[i]
	age := w.now.Sub(s.had[len(s.had)-1].Entered)
	fails := w.fails(s, s.commit)
	v := comply.Verdict{Commit: s.commit, Counts: comply.Counts{Expected: 1, Counted: 1, Required: 1}}
	switch {
	case fails && age >= failsAfter:
		v.Result, v.Reason, v.Counts.Failed = comply.Failed, "c fails", 1
	case s.quiet():
		v.Result, v.Reason, v.Counts.Offline = comply.Waiting, "c is offline", 1
	case age >= runsAfter && !fails:
		v.Result, v.Reason, v.Counts.Reached = comply.Passed, "c runs it", 1
	default:
		v.Result, v.Reason = comply.Waiting, "c is behind"
	}
	return v
}

func (w *ringWorld) facts() decide.Facts {
	f := decide.Facts{Line: w.line, Merged: w.merged}
	var stages []fleet.Stage
	for i, s := range w.stages {
		stages = append(stages, s.Stage)
		f.Environments = append(f.Environments, decide.Environment{
			Name: decide.RingName("prod", s.Name), Commit: s.commit, Rollout: decide.Rollout{State: decide.RolloutMerged, Commit: s.commit},
			Verdict: w.verdict(i), Carriers: w.carriers(s), Rollbacks: s.rollbacks, Requested: s.requested, Pause: s.pause, Request: s.request, Skips: w.skips,
		})
	}
	f.Chain = decide.NewRings(decide.Stage{Name: "prod", Promotion: w.rules}, stages)
	return f
}

func (w *ringWorld) position(commit string) int { return slices.Index(w.line, commit) }

// apply carries out actions, and checks the rules of rings at each move.
func (w *ringWorld) apply(actions []decide.Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case decide.Promote:
			w.checkMove(a)
			w.checkFailures(a)
			w.move(a.Environment, a.From, a.Commit)
		case decide.ProposeRollback:
			s := w.at(a.Environment)
			if w.ran(s, a.To).IsZero() || w.failed(s, a.To) || w.position(a.To) >= w.position(a.From) {
				w.Fatalf("%s: not a commit that ran well before", a)
			}
			for _, c := range s.had {
				if w.position(c.Commit) > w.position(a.From) && len(s.rollbacks) == 0 {
					w.Fatalf("%s: it went back already, from %.7s", a, c.Commit)
				}
			}
			w.move(a.Environment, a.From, a.To)
		}
	}
}

func (w *ringWorld) move(name, from, to string) {
	if s := w.at(name); s.commit == from {
		if s.disturbed(w.now) {
			w.Fatalf("%s is changed at %s, when it asks not to be disturbed", name, w.now.Format("15:04"))
		}
		s.commit = to
		s.had[len(s.had)-1].Left = w.now
		s.had = append(s.had, decide.Carrier{Commit: to, Revision: to, Entered: w.now})
	}
}

func (w *ringWorld) at(name string) *ringStage {
	_, stage := decide.SplitRing(name)
	return w.stages[slices.IndexFunc(w.stages, func(s *ringStage) bool { return s.Name == stage })]
}

// checkMove checks that a commit enters a stage only after it ran in every earlier one, where nothing contradicts it now.
func (w *ringWorld) checkMove(m decide.Promote) {
	for i, before := range w.stages {
		if decide.RingName("prod", before.Name) == m.Environment {
			return
		}
		if slices.ContainsFunc(w.skips, func(s decide.Skip) bool { return s.Commit == m.Commit }) {
			continue
		}
		if before.disturbed(w.now) && before.commit != m.Commit && w.at(m.Environment) != before {
			if w.failed(before, m.Commit) {
				w.Fatalf("%s, and it failed on %s", m, before.Name)
			}
			continue
		}
		if w.at(m.Environment).Ring == before.Ring && before.own() {
			continue // they do not wait for each other
		}
		if w.ran(before, m.Commit).IsZero() {
			w.Fatalf("%s, and %s never ran it", m, before.Name)
		}
		again := !w.ran(w.at(m.Environment), m.Commit).IsZero() // it goes back to what it ran before
		if soak := w.soak(before); w.at(m.Environment).Ring != before.Ring && !again && w.proven(before, m.Commit) < soak {
			w.Fatalf("%s, and %s is known to have run it for %s only", m, before.Name, w.proven(before, m.Commit))
		}
		if before.commit == m.Commit && w.verdict(i).Result == comply.Failed {
			w.Fatalf("%s, and it fails in %s", m, before.Name)
		}
	}
}

// checkFailures checks that no commit enters a stage after it failed in another one of the same or an earlier ring, unless users want that.
func (w *ringWorld) checkFailures(m decide.Promote) {
	if slices.ContainsFunc(w.skips, func(s decide.Skip) bool { return s.Commit == m.Commit }) {
		return
	}
	target := w.at(m.Environment)
	for i, s := range w.stages {
		if s.Ring > target.Ring {
			return
		}
		again := s.requests(m.Commit) || target.Ring == s.Ring && !target.own() && target.requests(m.Commit) // a batch had it before its ring's sites
		if s != target && s.own() && !again && (w.failed(s, m.Commit) || s.commit == m.Commit && w.verdict(i).Result == comply.Failed) {
			w.Fatalf("%s, and it failed in %s", m, s.Name)
		}
	}
}

func (s *ringStage) requests(commit string) bool {
	return s.request != nil && s.request.Commit == commit
}

func (s *ringStage) own() bool { return s.nights || s.Hold != nil }

// checkNotBlocked checks that no stage waits for a cluster that asks not to be disturbed, before the limit, when all others ran the newest commit.
func (w *ringWorld) checkNotBlocked(decisions []decide.Decision) {
	head := w.line[len(w.line)-1]
	skipped := len(w.skips) > 0 || slices.ContainsFunc(w.stages, func(s *ringStage) bool { return len(s.rollbacks) > 0 })
	others := map[string]bool{} // rings that ran it
	ready := w.merged[head]     // for the present stage
	waits, soaks := false, false
	for i, s := range w.stages {
		if soaks && w.stages[i-1].Ring != s.Ring {
			return
		}
		failed := slices.ContainsFunc(w.stages, func(q *ringStage) bool { return q.Ring == s.Ring && w.failed(q, head) })
		idle := !failed && s.commit != head && s.pause == nil && s.request == nil && !s.disturbed(w.now) && decisions[i].State.Deployed() &&
			!slices.ContainsFunc(s.had, func(c decide.Carrier) bool { return c.Commit == head })
		if idle && waits && !skipped {
			goesOn := func(a decide.Action) bool {
				p, promotes := a.(decide.Promote)
				return promotes && p.Commit == head
			}
			if !slices.ContainsFunc(decisions[i].Actions, goesOn) {
				w.Fatalf("%s does not go on without those that wait: %s, %v", s.Name, decisions[i].Reason, decisions[i].Actions)
			}
		}
		ran := w.ran(s, head)
		next := i+1 < len(w.stages) && w.stages[i+1].Ring == s.Ring
		switch {
		case s.own() && s.disturbed(w.now) && s.pause == nil && s.commit != head && others[s.Ring] && w.now.Before(ready.Add(maxDelay)) && !w.failed(s, head):
			waits = true
		case ran.IsZero() || s.commit != head || s.pause != nil || !decisions[i].State.Deployed():
			return
		default:
			others[s.Ring] = true
			if ring := w.rules.Rings[slices.IndexFunc(w.rules.Rings, func(r v1alpha1.Ring) bool { return r.Name == s.Ring })]; ring.Soak != nil {
				if len(s.silent) > 0 {
					return // its soak began again after a silence
				}
				if ran = ran.Add(ring.Soak.Duration); w.now.Before(ran) && (!next || !s.own()) {
					return
				}
				soaks = soaks || w.now.Before(ran) // the next ring waits for it, unlike other sites of its own
			}
			if ran.After(ready) && !s.own() {
				ready = ran
			}
		}
	}
}

// soak returns the soak of a stage's ring.
func (w *ringWorld) soak(s *ringStage) time.Duration {
	ring := w.rules.Rings[slices.IndexFunc(w.rules.Rings, func(r v1alpha1.Ring) bool { return r.Name == s.Ring })]
	if ring.Soak == nil {
		return 0
	}
	return ring.Soak.Duration
}

// TestRings runs random rollouts through rings, with commits that fail, interrupted rounds, and users who pause, skip and request. It checks
// that no commit enters a ring that earlier rings have not run, and that every rollout ends when a good commit follows.
func TestRings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newRingWorld(t)
		for range rapid.IntRange(0, 60).Draw(t, "rounds") {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 8).Draw(t, "minutes")) * time.Minute)
			w.disturb()
			decisions := decide.Decide(w.facts(), w.now)
			w.checkNotBlocked(decisions)
			actions := allActions(decisions)
			w.apply(actions[:rapid.IntRange(0, len(actions)).Draw(t, "killed after")])
		}
		w.end()
	})
}

func (w *ringWorld) disturb() {
	switch rapid.IntRange(0, 12).Draw(w.T, "event") {
	case 0, 1:
		c := w.commit()
		if rapid.IntRange(0, 3).Draw(w.T, "bad") == 0 {
			w.bad[c] = rapid.SampledFrom(w.stages).Draw(w.T, "fails in").Name
		}
		w.worse[c] = rapid.IntRange(0, 4).Draw(w.T, "worse") == 0
	case 2:
		s := rapid.SampledFrom(w.stages).Draw(w.T, "paused")
		s.pause = &decide.Pause{By: "anna", At: w.now}
	case 3:
		for _, s := range w.stages {
			s.pause = nil
		}
	case 4:
		if rapid.IntRange(0, 3).Draw(w.T, "skips") == 0 {
			w.skips = append(w.skips, decide.Skip{Commit: rapid.SampledFrom(w.line).Draw(w.T, "skipped"), By: "anna", Why: "urgent"})
		}
	case 5:
		s := rapid.SampledFrom(w.stages).Draw(w.T, "for")
		s.request = &decide.Request{ID: "1", Commit: rapid.SampledFrom(w.line).Draw(w.T, "requested"), By: "anna", At: w.now}
		s.requested[s.request.Commit] = w.now
	case 6, 7:
		if s := rapid.SampledFrom(w.stages).Draw(w.T, "silent"); s.quiet() {
			s.silent[len(s.silent)-1].To = w.now
		} else {
			s.silent = append(s.silent, comply.Span{From: w.now})
		}
	case 8:
		if s := rapid.SampledFrom(w.stages).Draw(w.T, "takes back"); rapid.Bool().Draw(w.T, "really") {
			s.rollbacks = append(s.rollbacks, decide.Rollback{Commit: s.commit, By: "anna", At: w.now})
		}
	}
}

// end checks that everything runs a good commit in the end.
func (w *ringWorld) end() {
	w.now = w.now.Add(time.Minute)
	w.commit()
	for _, s := range w.stages {
		s.pause, s.request = nil, nil
		if s.quiet() {
			s.silent[len(s.silent)-1].To = w.now
		}
	}
	for range 40 * len(w.stages) {
		w.now = w.now.Add(5 * time.Minute)
		w.apply(allActions(decide.Decide(w.facts(), w.now)))
	}
	head := w.line[len(w.line)-1]
	for _, s := range w.stages {
		if s.commit != head {
			var reasons []string
			for _, d := range decide.Decide(w.facts(), w.now) {
				reasons = append(reasons, d.Environment+": "+d.Reason)
			}
			w.Fatalf("%s is at %d of %d:\n%s", s.Name, w.position(s.commit), w.position(head), strings.Join(reasons, "\n"))
		}
	}
	if v := decide.Together(w.facts(), w.now).Verdict(head); v.Result != comply.Passed {
		w.Fatalf("every ring runs it, and the environment says %s: %s", v.Result, v.Reason)
	}
}
