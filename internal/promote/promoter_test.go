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

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// bench is a promoter on a ledger, with a clock that the test moves.
type bench struct {
	*testing.T
	ledger   *sqlite.Ledger
	promoter *promote.Promoter
	towns    *towns
	ancestry equals
	now      time.Time
	clock    atomic.Pointer[time.Time] // now, as verifications in the background see it
}

func newBench(t *testing.T, rules map[string]*v1alpha1.Promotion, line ...string) *bench {
	b := &bench{T: t, ledger: openLedger(t), towns: newTowns(rules, line...), now: noon}
	b.promoter = b.newPromoter(nil)
	return b
}

func (b *bench) newPromoter(checks promote.Checks) *promote.Promoter {
	b.clock.Store(&noon)
	p := &promote.Promoter{Ledger: b.ledger, Ancestry: &b.ancestry, Now: func() time.Time { return *b.clock.Load() }, Checks: checks}
	b.Cleanup(p.Close)
	return p
}

// round lets a minute pass.
func (b *bench) round() *promote.Outcome {
	b.Helper()
	b.now = b.now.Add(time.Minute)
	now := b.now
	b.clock.Store(&now)
	o, err := b.promoter.Round(b.Context(), b.towns)
	if err != nil {
		b.Fatal(err)
	}
	return o
}

// reasons are those of the steps of a kind, the oldest first.
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

// TestDecisionsAreRecordedWhenTheyChange, and not in each round; those that only count on at most once a minute.
func TestDecisionsAreRecordedWhenTheyChange(t *testing.T) {
	b := newBench(t, alone, "one")
	for _, c := range []string{"a", "b", "c"} {
		join(t, b.ledger, c, "dev")
	}
	b.round()
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
	if diff := cmp.Diff(want, b.reasons("dev", promote.Decided)); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(decide.Status{State: decide.Success, Description: "Deployed"}, b.towns.shown[sha("one")+" dev"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// TestLookDoesNothing: it says what is to be done.
func TestLookDoesNothing(t *testing.T) {
	b := newBench(t, alone, "one", "two")
	before := b.towns.reading.Places[0]
	o, err := b.promoter.Look(t.Context(), b.towns)
	if err != nil || len(o.Did) > 0 || len(o.Environments) != 1 || len(o.Environments[0].Actions) == 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	if steps, err := b.ledger.Steps(t.Context(), ledger.StepQuery{}); len(steps) > 0 || err != nil {
		t.Errorf("steps %v, %v", steps, err)
	}
	if diff := cmp.Diff(before.Commit, b.towns.reading.Places[0].Commit); diff != "" || len(b.towns.shown) > 0 {
		t.Error("it did something")
	}
	if _, err := json.Marshal(o); err != nil {
		t.Error(err)
	}
}

// TestGitIsAskedOncePerRevision, however many clusters run it. Reconcilers that were removed count for nobody.
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

// TestAClockThatGoesBack does not turn the order of steps around, nor record anything twice.
func TestAClockThatGoesBack(t *testing.T) {
	b := newBench(t, alone, "one", "two")
	join(t, b.ledger, "a", "dev")
	b.round()
	for i, commit := range []string{"one", "two"} {
		b.now = b.now.Add(-2 * time.Hour)
		reports(t, b.ledger, "dev", revision("dev", sha(commit)), noon.Add(time.Duration(i)*time.Hour), "a") // by a clock of its own
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
		if s := steps[len(steps)-1-i]; s.Kind == "entered" || s.Kind == "arrived" {
			got = append(got, s.Kind+" "+s.Commit[:6])
		}
	}
	one, two := sha("one")[:6], sha("two")[:6]
	if diff := cmp.Diff([]string{"entered " + one, "arrived " + one, "entered " + two, "arrived " + two}, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// gate is a verification that the test lets pass or fail.
type gate struct {
	begun  chan string
	result chan error
	ran    atomic.Int32
}

func newGate() *gate { return &gate{begun: make(chan string, 10), result: make(chan error)} }

func (g *gate) Run(ctx context.Context, check decide.RunCheck) (string, error) {
	g.ran.Add(1)
	g.begun <- check.Check.Name
	select {
	case err := <-g.result:
		return "what it wrote", err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// verifying is an environment with a verification, whose cluster is well.
func verifying(t *testing.T) (*bench, *gate, chan string) {
	b := newBench(t, map[string]*v1alpha1.Promotion{"dev": {Verify: []v1alpha1.Verification{{
		Name: "smoke", HTTP: &v1alpha1.HTTPVerification{URL: "https://shop.example"},
	}}}}, "one")
	g, ended := newGate(), make(chan string, 10)
	b.promoter = b.newPromoter(g)
	b.promoter.Checked = func(subject string) { ended <- subject }
	join(t, b.ledger, "a", "dev")
	reports(t, b.ledger, "dev", revision("dev", sha("one")), b.now, "a")
	b.round() // it is put on record that the commit entered
	return b, g, ended
}

func TestVerificationsRunInTheBackground(t *testing.T) {
	b, g, ended := verifying(t)
	b.round()
	<-g.begun
	for range 3 {
		o := b.round()
		if s := o.Environments[0]; s.Phase != decide.Verifying || len(s.Checks) != 1 || s.Checks[0].State != decide.CheckRunning {
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
	// A person who orders the commit again lets it be verified again.
	control := &promote.Control{Ledger: b.ledger, Now: func() time.Time { return b.now.Add(time.Second) }}
	if err := control.Order(t.Context(), promote.Word{Subject: controlPlane, Environment: "dev", Commit: sha("one"), By: "anna"}); err != nil {
		t.Fatal(err)
	}
	b.round()
	<-g.begun
	g.result <- nil
	<-ended
	b.round()
	if s := b.round().Environments[0]; s.Phase != decide.Deployed || s.Order != nil || g.ran.Load() != 2 {
		t.Errorf("after it passed: %s %s, %d runs", s.Phase, s.Reason, g.ran.Load())
	}
	steps, err := b.ledger.Steps(t.Context(), ledger.StepQuery{Kind: string(promote.Verified)})
	if err != nil || len(steps) != 2 || !strings.Contains(string(steps[0].Detail), "what it wrote") {
		t.Errorf("results %+v, %v", steps, err)
	}
}

// TestAVerificationThatWasCutOffIsRunAgain by the next process.
func TestAVerificationThatWasCutOffIsRunAgain(t *testing.T) {
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
	if s := b.round().Environments[0]; s.Phase != decide.Deployed {
		t.Errorf("%s %s", s.Phase, s.Reason)
	}
}

// TestWithoutChecksVerificationsFail: a server that cannot verify does not pretend to.
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

func TestAnEnvironmentThatCannotBeReadStopsNobodyElse(t *testing.T) {
	b := newBench(t, map[string]*v1alpha1.Promotion{"dev": {}, "lab": {}}, "one", "two")
	b.towns.place("lab").Unknown = "its BaseRepo cannot be read"
	join(t, b.ledger, "a", "dev")
	for _, commit := range []string{"one", "two"} {
		reports(t, b.ledger, "dev", revision("dev", sha(commit)), b.now, "a")
		for range 5 {
			b.round()
		}
	}
	if got := b.towns.place("dev").Commit; got != sha("two") {
		t.Errorf("dev is at %s", got)
	}
	if got := b.towns.place("lab").Commit; got != sha("one") {
		t.Errorf("lab is at %s", got)
	}
}

// TestWhatLeftBeforeAnythingCameOfIt is shown as superseded, on the commit and on that of the environment's branch,
// and both are filed under the commit of the line.
func TestWhatLeftBeforeAnythingCameOfIt(t *testing.T) {
	b := newBench(t, alone, "one") // where nobody is, nothing arrives
	b.round()
	b.round()
	b.towns.reading.Line = append(b.towns.reading.Line, promote.Commit{SHA: sha("two")})
	b.round()
	b.towns.place("dev").Head = sha("another head")
	for range 3 {
		b.round()
	}
	for _, commit := range []string{sha("one"), sha("head dev")} {
		if got := b.towns.shown[commit+" dev"]; got.State != decide.Failure || got.Description != "Superseded by "+sha("two")[:7] {
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
