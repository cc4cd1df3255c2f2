package promote_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// ringed returns a bench with an environment of three rings, each with one cluster: c0, c1 and c2.
func ringed(t *testing.T, onFailure v1alpha1.FailureAction) *bench {
	t.Helper()
	return ringedBy(t, &v1alpha1.Promotion{Rings: []v1alpha1.Ring{{Name: "canary"}, {Name: "early", OnFailure: onFailure}, {Name: "others"}}})
}

// ringedBy returns a bench with an environment of rings, each with one cluster: c0, c1 and so on.
func ringedBy(t *testing.T, rules *v1alpha1.Promotion) *bench {
	t.Helper()
	b := newBench(t, map[string]*v1alpha1.Promotion{"prod": rules}, "one")
	var names []string
	for _, r := range rules.Rings {
		names = append(names, r.Name)
	}
	b.divide(names...)
	return b
}

// merge promotes a commit of main to the environment, and merges its manifests.
func (b *bench) merge(letters string) {
	b.fakePipeline.reading.Line = append(b.fakePipeline.reading.Line, promote.Commit{SHA: sha(letters)})
	place := b.fakePipeline.place("prod")
	publish(place, sha(letters))
	place.Rings.Line = append(place.Rings.Line, promote.Commit{SHA: place.Rollout.Commit})
}

// follow lets the clusters of rings run what their branches have, and report it, until nothing changes. Clusters in failing fail.
func (b *bench) follow(failing ...string) *promote.Outcome {
	b.Helper()
	var o *promote.Outcome
	for range 12 {
		rings := b.fakePipeline.place("prod").Rings
		for _, s := range rings.Stages {
			if s.Commit == "" {
				continue
			}
			pulls(b.T, b.ledger, rings.Line[len(rings.Line)-1].SHA, b.now, s.Clusters...)
			if slices.Contains(failing, s.Clusters[0]+" "+s.Commit) {
				fails(b.T, b.ledger, s.Branch, s.Commit, b.now, s.Clusters[0])
				continue
			}
			reports(b.T, b.ledger, s.Branch, s.Commit, b.now, s.Clusters...)
		}
		b.now = b.now.Add(time.Minute)
		o = b.round()
	}
	return o
}

// commits returns the commits of the rings, by the letters of those of main.
func (b *bench) commits() string {
	var all []string
	for _, s := range b.fakePipeline.place("prod").Rings.Stages {
		all = append(all, s.Commit[12:18])
	}
	return strings.Join(all, " ")
}

func of(letters ...string) string {
	var all []string
	for _, l := range letters {
		all = append(all, sha(l)[:6])
	}
	return strings.Join(all, " ")
}

func TestRingsFollowEachOther(t *testing.T) {
	b := ringed(t, "")
	o := b.follow()
	if o.Environments[0].Phase != decide.Good {
		t.Fatalf("%s", o.Environments[0].Reason)
	}
	b.fakePipeline.moves = nil
	b.merge("two")
	o = b.follow()
	if o.Environments[0].Phase != decide.Good || b.commits() != of("two", "two", "two") {
		t.Fatalf("%s: %s", b.commits(), o.Environments[0].Reason)
	}
	var order []string
	for _, m := range b.fakePipeline.moves {
		order = append(order, strings.Fields(m)[0])
	}
	if got := strings.Join(order, " "); got != "prod/canary prod/early prod/others" {
		t.Errorf("the rings moved in the order %s", got)
	}
	for _, ring := range []string{"canary", "early", "others"} {
		if s := b.fakePipeline.statuses[revision("prod", sha("two"))+" prod/"+ring]; s.State != decide.Success {
			t.Errorf("the status of ring %s is %+v", ring, s)
		}
	}
}

// TestWhatWasNotRenderedEntersNoRing checks that a commit that was pushed to the GitOps branch, or merged with
// something that was pushed to its pull request, stays where it is until a round has found that it is what was
// rendered.
func TestWhatWasNotRenderedEntersNoRing(t *testing.T) {
	b := ringed(t, "")
	b.follow()
	b.merge("two")
	b.follow()
	place := b.fakePipeline.place("prod")
	pushed := revision("prod", sha("six"))
	place.Rings.Line = append(place.Rings.Line, promote.Commit{SHA: pushed})
	place.Rollout = decide.Rollout{State: decide.RolloutOpen, URL: "restores"}
	o := b.follow()
	if b.commits() != of("two", "two", "two") {
		t.Errorf("the rings run %s", b.commits())
	}
	if !slices.ContainsFunc(o.Problems, func(p fleet.Problem) bool { return p.Kind == fleet.KindNotRendered }) {
		t.Errorf("nothing says why: %v", o.Problems)
	}
	place.Rendered = pushed
	if o = b.follow(); b.commits() != of("six", "six", "six") {
		t.Errorf("the rings run %s: %s", b.commits(), o.Environments[0].Reason)
	}
}

func TestARolloutThatFailsGoesBackRingByRing(t *testing.T) {
	b := ringed(t, v1alpha1.FailureRollback)
	b.follow()
	b.merge("two")
	bad := "c1 " + revision("prod", sha("two"))
	o := b.follow(bad)
	if b.commits() != of("one", "one", "one") {
		t.Errorf("the rings run %s", b.commits())
	}
	e := o.Environments[0]
	if e.Phase != decide.Failed || !strings.Contains(e.Reason, "prod/early") {
		t.Errorf("%s: %s", e.Phase, e.Reason)
	}
	// The same commit does not come back by itself, and a newer one does.
	b.merge("three")
	if o = b.follow(bad); b.commits() != of("three", "three", "three") || o.Environments[0].Phase != decide.Good {
		t.Errorf("the rings run %s: %s", b.commits(), o.Environments[0].Reason)
	}
}

func TestARolloutThatFailsStops(t *testing.T) {
	b := ringed(t, "")
	b.follow()
	b.merge("two")
	o := b.follow("c1 " + revision("prod", sha("two")))
	if b.commits() != of("two", "two", "one") || o.Environments[0].Phase != decide.Failed {
		t.Errorf("the rings run %s: %s", b.commits(), o.Environments[0].Reason)
	}
}

// TestRolloutsOverlap checks that a newer commit follows one that the rings still roll out. The older one never ran in the last ring by itself,
// so that it is superseded.
func TestRolloutsOverlap(t *testing.T) {
	b := ringed(t, "")
	b.follow()
	b.pause("prod/others")
	b.merge("two")
	b.follow()
	if b.commits() != of("two", "two", "one") {
		t.Fatalf("the rings run %s", b.commits())
	}
	b.merge("three")
	b.follow()
	if b.commits() != of("three", "three", "one") {
		t.Fatalf("the rings run %s", b.commits())
	}
	if s := b.fakePipeline.statuses[sha("two")+" prod"]; s.State != decide.Pending {
		t.Errorf("the status of the older commit is %+v", s)
	}
	b.resume("prod/others")
	if o := b.follow(); b.commits() != of("three", "three", "three") || o.Environments[0].Phase != decide.Good {
		t.Fatalf("the rings run %s: %s", b.commits(), o.Environments[0].Reason)
	}
	if s := b.fakePipeline.statuses[sha("two")+" prod"]; s.State != decide.Failure || !strings.HasPrefix(s.Description, "Superseded") {
		t.Errorf("the status of the older commit is %+v", s)
	}
}

// TestRingsThatComeBackTakeNoClusterBack checks that the branches of rings that were removed for a while do not keep their old commits.
func TestRingsThatComeBackTakeNoClusterBack(t *testing.T) {
	b := ringed(t, "")
	b.follow()
	place := b.fakePipeline.place("prod")
	rings := place.Rings
	place.Rings = nil
	publish(place, sha("two"))
	b.fakePipeline.reading.Line = append(b.fakePipeline.reading.Line, promote.Commit{SHA: sha("two")})
	for range 4 {
		reports(t, b.ledger, "prod", place.Rollout.Commit, b.now, "c0", "c1", "c2")
		if o := b.round(); o.Environments[0].Phase == decide.Good && o.Environments[0].Commit != sha("two") {
			t.Fatal(o.Environments[0].Reason)
		}
	}
	rings.Line = append(rings.Line, promote.Commit{SHA: place.Rollout.Commit})
	place.Rings = rings
	b.round()
	if b.commits() != of("two", "two", "two") {
		t.Errorf("the rings have %s", b.commits())
	}
	if o := b.follow(); o.Environments[0].Phase != decide.Good {
		t.Error(o.Environments[0].Reason)
	}
}

// TestARegisteredClusterThatFollowsTheEnvironmentIsMissingInItsRing checks that a report about another branch does not count.
func TestARegisteredClusterThatFollowsTheEnvironmentIsMissingInItsRing(t *testing.T) {
	b := ringed(t, "")
	b.follow()
	join(t, b.ledger, "unlisted", "prod")
	b.merge("two")
	reports(t, b.ledger, "prod", revision("prod", sha("two")), b.now, "unlisted")
	o := b.follow()
	if e := o.Environments[0]; e.Phase != decide.Applying || !strings.Contains(e.Reason, "unlisted") {
		t.Errorf("%s: %s", e.Phase, e.Reason)
	}
}

func (b *bench) pause(name string) {
	b.Helper()
	b.command(name, (*promote.Control).Pause)
}

func (b *bench) resume(name string) {
	b.Helper()
	b.command(name, (*promote.Control).Resume)
}

// command records a user's command.
func (b *bench) command(name string, say func(*promote.Control, context.Context, promote.Command) error) {
	b.Helper()
	control := &promote.Control{Ledger: b.ledger, Now: func() time.Time { return b.now }}
	if err := say(control, b.Context(), promote.Command{Subject: controlPlane, Environment: name, By: "anna"}); err != nil {
		b.Fatal(err)
	}
}

// TestAClusterThatBreaksLaterTakesNoRingBack checks that a commit that every ring has run stays: a cluster that fails with every commit
// would otherwise take the rings back to the first.
func TestAClusterThatBreaksLaterTakesNoRingBack(t *testing.T) {
	b := ringed(t, v1alpha1.FailureRollback)
	b.follow()
	for _, letters := range []string{"two", "three"} {
		b.merge(letters)
		b.follow()
	}
	b.fakePipeline.moves = nil
	o := b.follow("c1 "+revision("prod", sha("three")), "c1 "+revision("prod", sha("two")))
	if b.commits() != of("three", "three", "three") || len(b.fakePipeline.moves) > 0 {
		t.Errorf("the rings run %s after %v", b.commits(), b.fakePipeline.moves)
	}
	if s := o.Environments[0].Rings[1]; s.Phase != decide.Failed || !strings.Contains(s.Reason, "every ring has run") {
		t.Errorf("%s: %s", s.Phase, s.Reason)
	}
	// The next commit goes back to it.
	b.follow()
	b.merge("four")
	b.follow("c1 " + revision("prod", sha("four")))
	if b.commits() != of("three", "three", "three") {
		t.Errorf("the rings run %s", b.commits())
	}
}

// TestTheFirstCommitIsRolledOutRingByRing checks that the first commit of an environment does not reach all rings at once.
func TestTheFirstCommitIsRolledOutRingByRing(t *testing.T) {
	b := ringed(t, "")
	b.pause("prod/early")
	b.follow()
	heads := func() string {
		var all []string
		for _, s := range b.fakePipeline.place("prod").Rings.Stages {
			if s.Head != "" {
				all = append(all, s.Name)
			}
		}
		return strings.Join(all, " ")
	}
	if got := heads(); got != "canary" {
		t.Errorf("rings with the first commit: %q, want only the first", got)
	}
	b.resume("prod/early")
	if o := b.follow(); heads() != "canary early others" || o.Environments[0].Phase != decide.Good {
		t.Errorf("rings with the first commit: %q; %s", heads(), o.Environments[0].Reason)
	}
}
