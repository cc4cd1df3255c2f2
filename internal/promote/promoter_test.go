package promote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/promote/measure"
)

// bench is a promoter with a ledger and a clock that the test sets.
type bench struct {
	*testing.T
	ledger       *sqlite.Ledger
	promoter     *promote.Promoter
	fakePipeline *fakePipeline
	ancestry     equals
	now          time.Time
	clock        atomic.Pointer[time.Time] // the clock for verifications in the background
}

func newBench(t *testing.T, rules map[string]*v1alpha1.Promotion, line ...string) *bench {
	b := &bench{T: t, ledger: openLedger(t), fakePipeline: newFakePipeline(rules, line...), now: noon}
	b.promoter = b.newPromoter(nil)
	return b
}

func (b *bench) newPromoter(checks promote.Checks) *promote.Promoter {
	b.clock.Store(&noon)
	p := &promote.Promoter{Ledger: b.ledger, Ancestry: &b.ancestry, Now: func() time.Time { return *b.clock.Load() }, Checks: checks}
	b.Cleanup(p.Close)
	return p
}

// round advances the clock by a minute and runs a round.
func (b *bench) round() *promote.Outcome {
	b.Helper()
	b.now = b.now.Add(time.Minute)
	now := b.now
	b.clock.Store(&now)
	o, err := b.promoter.Round(b.Context(), b.fakePipeline)
	if err != nil {
		b.Fatal(err)
	}
	return o
}

// roundNow runs a round without advancing the clock.
func (b *bench) roundNow() *promote.Outcome {
	b.Helper()
	b.now = b.now.Add(-time.Minute)
	return b.round()
}

// reasons returns the reasons of all steps of a kind, oldest first.
func (b *bench) reasons(environment string, kind decide.StepKind) []string {
	b.Helper()
	steps, err := b.ledger.Steps(b.Context(), ledger.StepQuery{Environment: environment, Kind: string(kind)})
	if err != nil {
		b.Fatal(err)
	}
	var all []string
	for i := range steps {
		all = append(all, steps[len(steps)-1-i].Reason)
	}
	return all
}

var alone = map[string]*v1alpha1.Promotion{"dev": {}}

// TestDecisionsAreRecordedWhenTheyChange checks that unchanged decisions are not recorded, and counts at most once a minute.
func TestDecisionsAreRecordedWhenTheyChange(t *testing.T) {
	b := newBench(t, alone, "one")
	for _, c := range []string{"a", "b", "c"} {
		join(t, b.ledger, c, "dev")
	}
	b.round()
	recorded := b.now
	reports(t, b.ledger, "dev", revision("dev", sha("one")), b.now, "a")
	b.now = b.now.Add(-30 * time.Second) // half a minute after the last round
	o := b.round()
	if !strings.Contains(o.Environments[0].Reason, "2 of 3") || o.Next.After(recorded.Add(61*time.Second)) {
		t.Fatalf("%s, again at %s", o.Environments[0].Reason, o.Next)
	}
	b.round()
	b.round()
	reports(t, b.ledger, "dev", revision("dev", sha("one")), b.now, "b", "c")
	for range 5 {
		b.round()
	}
	want := []string{
		sha("one")[:7] + " waits: 3 of 3 clusters missing: a, b, c",
		sha("one")[:7] + " waits: 2 of 3 clusters missing: b, c",
		sha("one")[:7] + " is deployed",
	}
	if diff := cmp.Diff(want, b.reasons("dev", promote.StateChanged)); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(decide.Status{State: decide.Success, Description: "Deployed"}, b.fakePipeline.statuses[sha("one")+" dev"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// TestPreviewDoesNothing checks that Preview returns the next actions without carrying them out.
func TestPreviewDoesNothing(t *testing.T) {
	b := newBench(t, alone, "one", "two")
	before := b.fakePipeline.reading.Places[0]
	o, err := b.promoter.Preview(t.Context(), b.fakePipeline)
	if err != nil || len(o.Did) > 0 || len(o.Environments) != 1 || len(o.Environments[0].Actions) == 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	if steps, err := b.ledger.Steps(t.Context(), ledger.StepQuery{}); len(steps) > 0 || err != nil {
		t.Errorf("steps %v, %v", steps, err)
	}
	if diff := cmp.Diff(before.Commit, b.fakePipeline.reading.Places[0].Commit); diff != "" || len(b.fakePipeline.statuses) > 0 {
		t.Error("it did something")
	}
	if _, err := json.Marshal(o); err != nil {
		t.Error(err)
	}
}

// TestGitIsAskedOncePerRevision checks that the number of clusters does not matter, and that removed reconcilers do not count.
func TestGitIsAskedOncePerRevision(t *testing.T) {
	b := newBench(t, alone, "one")
	var behind []string
	for i := range 20 {
		behind = append(behind, fmt.Sprint("c", i))
		join(t, b.ledger, behind[i], "dev")
	}
	reports(t, b.ledger, "dev", sha("old"), b.now, behind...)
	o := b.round()
	if got := o.Environments[0].Verdict.Counts; got.Behind != 20 || b.ancestry.asked != 1 {
		t.Errorf("asked %d times: %+v", b.ancestry.asked, got)
	}
	gone := ledger.Report{
		Reconciler: ledger.ReconcilerID{Cluster: "c0", Kind: "Kustomization", Namespace: "flux-system", Name: "platform-dev"},
		Outcome:    ledger.Outcome{State: ledger.StateSuspended}, Observed: b.now.Add(time.Second), Received: b.now,
	}
	if err := b.ledger.Report(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if got := b.round().Environments[0].Verdict.Counts; got.Missing != 1 || got.Behind != 19 {
		t.Errorf("after one is gone: %+v", got)
	}
}

// TestClockSetBack checks that the order of steps is kept and that no step is recorded twice.
func TestClockSetBack(t *testing.T) {
	b := newBench(t, alone, "one", "two")
	join(t, b.ledger, "a", "dev")
	b.round()
	for i, commit := range []string{"one", "two"} {
		b.now = b.now.Add(-2 * time.Hour)
		reports(t, b.ledger, "dev", revision("dev", sha(commit)), noon.Add(time.Duration(i)*time.Hour), "a") // with the cluster's clock
		for range 6 {
			b.round()
		}
	}
	steps, err := b.ledger.Steps(t.Context(), ledger.StepQuery{Environment: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range steps {
		if s := steps[len(steps)-1-i]; s.Kind == "started" || s.Kind == "deployed" {
			got = append(got, s.Kind+" "+s.Commit[:6])
		}
	}
	one, two := sha("one")[:6], sha("two")[:6]
	if diff := cmp.Diff([]string{"started " + one, "deployed " + one, "started " + two, "deployed " + two}, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// gate is a verification whose result the test sets.
type gate struct {
	begun  chan string
	result chan error
	ran    atomic.Int32
}

func newGate() *gate { return &gate{begun: make(chan string, 10), result: make(chan error)} }

func (g *gate) Run(ctx context.Context, check decide.RunCheck) (measure.Evidence, error) {
	g.ran.Add(1)
	g.begun <- check.Check.Name
	select {
	case err := <-g.result:
		return measure.Evidence{Output: "what it wrote"}, err
	case <-ctx.Done():
		return measure.Evidence{}, ctx.Err()
	}
}

// verifying returns a promoter with one environment that has a verification and a healthy cluster.
func verifying(t *testing.T) (*bench, *gate, chan string) {
	b := newBench(t, map[string]*v1alpha1.Promotion{"dev": {Verify: []v1alpha1.Verification{{
		Name: "smoke", HTTP: &v1alpha1.HTTPVerification{URL: "https://shop.example"},
	}}}}, "one")
	g, ended := newGate(), make(chan string, 10)
	b.promoter = b.newPromoter(g)
	b.promoter.Checked = func(subject string) { ended <- subject }
	join(t, b.ledger, "a", "dev")
	reports(t, b.ledger, "dev", revision("dev", sha("one")), b.now, "a")
	b.round() // records that the commit was promoted
	return b, g, ended
}

func TestVerificationsRunInTheBackground(t *testing.T) {
	b, g, ended := verifying(t)
	b.round()
	<-g.begun
	for range 3 {
		o := b.round()
		if s := o.Environments[0]; s.Phase != decide.Checking || len(s.Checks) != 1 || s.Checks[0].State != decide.CheckRunning {
			t.Fatalf("while it runs: %+v", s)
		}
	}
	g.result <- errors.New("it answers 503")
	<-ended
	b.round()
	o := b.round()
	if s := o.Environments[0]; s.Phase != decide.Failed || !strings.Contains(s.Reason, `verification "smoke": it answers 503`) {
		t.Fatalf("after it failed: %s %s", s.Phase, s.Reason)
	}
	// A new request for the commit runs its verification again.
	control := &promote.Control{Ledger: b.ledger, Now: func() time.Time { return b.now.Add(time.Second) }}
	if err := control.Order(t.Context(), promote.Command{Subject: controlPlane, Environment: "dev", Commit: sha("one"), By: "anna"}); err != nil {
		t.Fatal(err)
	}
	b.round()
	<-g.begun
	g.result <- nil
	<-ended
	b.round()
	if s := b.round().Environments[0]; s.Phase != decide.Good || s.Request != nil || g.ran.Load() != 2 {
		t.Errorf("after it passed: %s %s, %d runs", s.Phase, s.Reason, g.ran.Load())
	}
	steps, err := b.ledger.Steps(t.Context(), ledger.StepQuery{Kind: string(promote.Verified)})
	if err != nil || len(steps) != 2 || !strings.Contains(string(steps[0].Detail), "what it wrote") {
		t.Errorf("results %+v, %v", steps, err)
	}
}

// TestInterruptedVerificationRunsAgain checks that the next process runs an interrupted verification again.
func TestInterruptedVerificationRunsAgain(t *testing.T) {
	b, g, _ := verifying(t)
	b.round()
	<-g.begun
	b.promoter.Close()
	if got := b.reasons("dev", promote.Verified); len(got) > 0 {
		t.Fatalf("what was cut off has a result: %v", got)
	}
	again := newGate()
	b.promoter = b.newPromoter(again)
	ended := make(chan string)
	b.promoter.Checked = func(subject string) { ended <- subject }
	b.round()
	<-again.begun
	again.result <- nil
	<-ended
	b.round()
	if s := b.round().Environments[0]; s.Phase != decide.Good {
		t.Errorf("%s %s", s.Phase, s.Reason)
	}
}

// TestWithoutChecksVerificationsFail checks that a verification never passes without a runner.
func TestWithoutChecksVerificationsFail(t *testing.T) {
	b, _, _ := verifying(t)
	b.promoter = b.newPromoter(nil)
	ended := make(chan string, 1)
	b.promoter.Checked = func(subject string) { ended <- subject }
	b.round()
	<-ended
	if s := b.round().Environments[0]; s.Phase != decide.Failed || !strings.Contains(s.Reason, "not set up") {
		t.Errorf("%s %s", s.Phase, s.Reason)
	}
}

func TestUnreadableEnvironmentDoesNotBlockOthers(t *testing.T) {
	b := newBench(t, map[string]*v1alpha1.Promotion{"dev": {}, "lab": {}}, "one", "two")
	b.fakePipeline.place("lab").Unknown = "its BaseRepo cannot be read"
	join(t, b.ledger, "a", "dev")
	for _, commit := range []string{"one", "two"} {
		reports(t, b.ledger, "dev", revision("dev", sha(commit)), b.now, "a")
		for range 5 {
			b.round()
		}
	}
	if got := b.fakePipeline.place("dev").Commit; got != sha("two") {
		t.Errorf("dev is at %s", got)
	}
	if got := b.fakePipeline.place("lab").Commit; got != sha("one") {
		t.Errorf("lab is at %s", got)
	}
}

// TestReplacedCommitsAreSuperseded checks that a replaced commit and the head of the environment's branch get the status
// "superseded", and that both are recorded under the commit of the line.
func TestReplacedCommitsAreSuperseded(t *testing.T) {
	b := newBench(t, alone, "one") // without clusters, nothing is deployed
	b.round()
	b.round()
	b.fakePipeline.reading.Line = append(b.fakePipeline.reading.Line, promote.Commit{SHA: sha("two")})
	b.round()
	b.fakePipeline.place("dev").Head = sha("another head")
	for range 3 {
		b.round()
	}
	for _, commit := range []string{sha("one"), sha("head dev")} {
		if got := b.fakePipeline.statuses[commit+" dev"]; got.State != decide.Failure || got.Description != "Superseded by "+sha("two")[:7] {
			t.Errorf("%s: %+v", commit[:7], got)
		}
	}
	steps, err := b.ledger.Promotions(t.Context(), ledger.StepQuery{Environment: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s.Commit != sha("one") && s.Commit != sha("two") {
			t.Errorf("a promotion of %s: %+v", s.Commit[:7], s)
		}
	}
}

// TestCommitsChangedByHandAreMarked promotes one commit, and lets a user write the next one into the environment.
func TestCommitsChangedByHandAreMarked(t *testing.T) {
	book, pipeline := openLedger(t), newFakePipeline(map[string]*v1alpha1.Promotion{"dev": {}}, "c1", "c2", "c3")
	pipeline.reading.OnlyMoves = true
	join(t, book, "large-01", "dev")
	now := noon
	promoter := &promote.Promoter{Ledger: book, Ancestry: &equals{}, Now: func() time.Time { return now }}
	defer promoter.Close()
	round := func() string {
		now = now.Add(time.Minute)
		outcome, err := promoter.Round(t.Context(), pipeline)
		if err != nil {
			t.Fatal(err)
		}
		return outcome.Environments[0].Reason
	}
	reasons := func(commit string) (all []string) {
		steps, err := book.Steps(t.Context(), ledger.StepQuery{Commit: sha(commit), Kind: string(decide.StepStarted)})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			all = append(all, s.Reason)
		}
		return all
	}
	pipeline.reading.Line = pipeline.reading.Line[:2]
	for range 3 { // c2 is promoted after c1
		reports(t, book, "dev", revision("dev", pipeline.place("dev").Commit), now, "large-01")
		round()
		round()
	}
	pipeline.reading.Line = append(pipeline.reading.Line, promote.Commit{SHA: sha("c3")})
	publish(pipeline.place("dev"), sha("c3"))
	round()
	if reason := round(); !strings.Contains(reason, "changed by hand") {
		t.Errorf("reason %q", reason)
	}
	if got := [][]string{reasons("c1"), reasons("c2"), reasons("c3")}; !cmp.Equal(got, [][]string{{""}, {""}, {"the commit was changed by hand, without a promotion"}}) {
		t.Errorf("entered with reasons %q", got)
	}
}

// TestRefusedStatusIsReportedOnce: a token without the right to set statuses is reported once an hour, not in each round.
func TestRefusedStatusIsReportedOnce(t *testing.T) {
	book, pipeline := openLedger(t), newFakePipeline(map[string]*v1alpha1.Promotion{"dev": {}}, "c1")
	now, reported := noon, 0
	promoter := &promote.Promoter{Ledger: book, Ancestry: &equals{}, Now: func() time.Time { return now }}
	defer promoter.Close()
	pipeline.refusal = &forge.Error{Kind: forge.ErrDenied, Op: "set status", Detail: "403"}
	for range 10 {
		if _, err := promoter.Round(t.Context(), pipeline); errors.Is(err, forge.ErrDenied) {
			reported++
		} else if err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
	}
	if reported != 1 {
		t.Errorf("reported %d times", reported)
	}
	pipeline.refusal = nil // the token got the right
	if _, err := promoter.Round(t.Context(), pipeline); err != nil || pipeline.posted == 0 {
		t.Errorf("%v, %d statuses", err, pipeline.posted)
	}
}

// TestNoMoreStatusesAreTried: a forge that stores no more statuses of a commit is asked once, and that is neither a
// missing commit nor a status that was posted.
func TestNoMoreStatusesAreTried(t *testing.T) {
	b := newBench(t, alone, "one")
	b.fakePipeline.refusal = &forge.Error{Kind: forge.ErrTooMany, Op: "set status", Detail: "422"}
	reported := 0
	for range 5 {
		b.now = b.now.Add(time.Minute)
		now := b.now
		b.clock.Store(&now)
		switch _, err := b.promoter.Round(b.Context(), b.fakePipeline); {
		case errors.Is(err, forge.ErrTooMany):
			reported++
		case err != nil:
			t.Fatal(err)
		}
	}
	if posted := b.reasons("dev", promote.StatusPosted); reported != 1 || len(posted) > 0 {
		t.Errorf("reported %d times, recorded %q", reported, posted)
	}
}

// TestFailureStatusesDoNotGrowWithTheFleet lets 32 clusters fail in the same way, one every two minutes. The first failure
// changes the statuses of the commit and of the environment's branch; the others add nothing new to them.
func TestFailureStatusesDoNotGrowWithTheFleet(t *testing.T) {
	rules := &v1alpha1.Promotion{Gate: &v1alpha1.Gate{OfflineAfter: &metav1.Duration{Duration: 24 * time.Hour}}}
	book, pipeline := openLedger(t), newFakePipeline(map[string]*v1alpha1.Promotion{"dev": rules}, "c1")
	now := noon
	promoter := &promote.Promoter{Ledger: book, Ancestry: &equals{}, Now: func() time.Time { return now }}
	defer promoter.Close()
	round := func() {
		if _, err := promoter.Round(t.Context(), pipeline); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 32 {
		join(t, book, fmt.Sprintf("large-%02d", i), "dev")
	}
	round()
	round()
	before := pipeline.posted
	for i := range 32 {
		now = now.Add(2 * time.Minute)
		name := fmt.Sprintf("large-%02d", 31-i)
		err := book.Report(t.Context(), ledger.Report{
			Reconciler: ledger.ReconcilerID{Cluster: name, Kind: "Kustomization", Namespace: "flux-system", Name: "platform-dev"},
			Outcome: ledger.Outcome{
				Source:   ledger.Source{Repository: "https://git.example/platform/gitops", Ref: "dev", Path: "large"},
				Revision: revision("dev", sha("c1")), State: ledger.StateFailed,
				Message: fmt.Sprintf("Pod/shop/web-%d%d on %s: image not found", i, i*7, name),
			},
			Observed: now, Received: now,
		})
		if err != nil {
			t.Fatal(err)
		}
		round()
		round()
	}
	if posted := pipeline.posted - before; posted != 2 {
		t.Errorf("posted %d statuses", posted)
	}
	want := "Failed: large-31 fails at " + revision("dev", sha("c1"))[:7] + ": Pod/shop/web-00 on large-31: image not found"
	if got := pipeline.statuses[sha("c1")+" dev"].Description; got != want {
		t.Errorf("status %q, want %q", got, want)
	}
}
