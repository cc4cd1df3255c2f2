package promote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/promote/measure"
)

// meter answers measurements with the values of a list, and checks them as the expression of the verification says.
type meter struct {
	mu     sync.Mutex
	values []float64
	asked  []string // the baseline of each measurement
}

func (m *meter) Run(_ context.Context, check decide.RunCheck) (measure.Evidence, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value := m.values[0]
	m.values = m.values[1:]
	evidence, err := check.Check.Expression.CheckSamples([]measure.Sample{{Value: value}}, check.Baseline)
	m.asked = append(m.asked, evidence.Baseline)
	return evidence, err
}

// measuring returns a bench of one environment with a verification, whose only cluster runs everything at once.
func measuring(t *testing.T, checks promote.Checks, verify ...v1alpha1.Verification) (*bench, chan string) {
	b := newBench(t, map[string]*v1alpha1.Promotion{"dev": {Verify: verify}}, "one")
	b.promoter = b.newPromoter(checks)
	join(t, b.ledger, "a", "dev")
	reports(t, b.ledger, "dev", revision("dev", sha("one")), b.now, "a")
	return b, b.listen()
}

// listen returns a channel that receives the subject after each measurement.
func (b *bench) listen() chan string {
	ended := make(chan string, 10)
	b.promoter.Checked = func(subject string) { ended <- subject }
	return ended
}

func errorRate(count, failures int, baseline string) v1alpha1.Verification {
	p := &v1alpha1.PrometheusVerification{URL: "https://prom.example", Query: "errors", Expression: "result < 0.01", Baseline: baseline}
	if baseline != "" {
		p.Expression = "!hasBaseline || result <= 1.5 * baseline"
	}
	return v1alpha1.Verification{Name: "errors", Interval: &metav1.Duration{Duration: 2 * time.Minute}, Count: count, FailureLimit: failures, Prometheus: p}
}

// TestMeasurementsContinueAfterARestart measures three values, each with another process.
func TestMeasurementsContinueAfterARestart(t *testing.T) {
	values := &meter{values: []float64{0.001, 0.5, 0.002}}
	b, ended := measuring(t, values, errorRate(2, 1, ""))
	for i, want := range []string{"1 of 2 measurements passed", "1 of 2 measurements passed, 1 failed, and 1 may", ""} {
		b.round()
		<-ended
		if s := b.round().Environments[0]; want != "" && !strings.Contains(s.Reason, want) {
			t.Fatalf("after measurement %d: %s", i+1, s.Reason)
		}
		b.promoter.Close()
		b.promoter = b.newPromoter(values)
		ended = b.listen()
	}
	b.round()
	s := b.round().Environments[0]
	if s.Phase != decide.Good || len(values.values) != 0 {
		t.Fatalf("%s %s, not measured: %v", s.Phase, s.Reason, values.values)
	}
	want := []string{"passed 0.001 ", "failed 0.5 result < 0.01 is false", "passed 0.002 "}
	if diff := cmp.Diff(want, b.evidence("dev")); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	if got := b.fakePipeline.statuses[sha("one")+" dev/errors"]; got != (decide.Status{State: decide.Success, Description: "Passed: 0.002, result < 0.01"}) {
		t.Errorf("status %+v", got)
	}
}

// evidence returns the recorded measurements, oldest first.
func (b *bench) evidence(environment string) []string {
	b.Helper()
	steps, err := b.ledger.Steps(b.Context(), ledger.StepQuery{Environment: environment, Kind: string(promote.Verified)})
	if err != nil {
		b.Fatal(err)
	}
	var all []string
	for _, s := range slices.Backward(steps) {
		var d promote.Detail
		if err := json.Unmarshal(s.Detail, &d); err != nil {
			b.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %s %s", d.Result, d.Value, s.Reason))
	}
	return all
}

// TestBaselineIsThePreviousCommit compares each commit with the one before it. The first has nothing to compare with.
func TestBaselineIsThePreviousCommit(t *testing.T) {
	values := &meter{values: []float64{0.010, 0.012, 0.05}}
	b, ended := measuring(t, values, errorRate(1, 0, v1alpha1.BaselinePrevious))
	var phase decide.State
	for i, commit := range []string{"one", "two", "three"} {
		if i > 0 {
			b.fakePipeline.reading.Line = append(b.fakePipeline.reading.Line, promote.Commit{SHA: sha(commit)})
			b.round()
		}
		reports(t, b.ledger, "dev", revision("dev", sha(commit)), b.now, "a")
		b.round()
		b.round()
		<-ended
		b.round()
		phase = b.round().Environments[0].Phase
	}
	want := []string{"", "0.01 of commit " + sha("one")[:7], "0.012 of commit " + sha("two")[:7]}
	if diff := cmp.Diff(want, values.asked); diff != "" || phase != decide.Failed {
		t.Errorf("%s; baselines (-want +got):\n%s", phase, diff)
	}
}

// TestCommitStatusIsAVerification waits for a status that another program posts, and reads it once in an interval.
func TestCommitStatusIsAVerification(t *testing.T) {
	b, _ := measuring(t, nil, v1alpha1.Verification{
		Name: "load", Interval: &metav1.Duration{Duration: 2 * time.Minute}, FailureLimit: 1, CommitStatus: &v1alpha1.CommitStatusVerification{Context: "load-test"},
	})
	for range 3 {
		b.round()
	}
	if s := b.round().Environments[0]; s.Phase != decide.Awaiting || !strings.Contains(s.Reason, `nothing has posted the status "load-test" yet`) || b.fakePipeline.reads != 2 {
		t.Fatalf("%s %s, read %d times", s.Phase, s.Reason, b.fakePipeline.reads)
	}
	for _, state := range []forge.StatusState{forge.Pending, forge.Errored, forge.Success} {
		b.fakePipeline.others = []forge.Status{{Context: "load", State: forge.Failure}, {Context: "load-test", State: state, Description: "120 requests"}}
		b.round()
		b.round()
	}
	if s := b.round().Environments[0]; s.Phase != decide.Good {
		t.Errorf("%s %s", s.Phase, s.Reason)
	}
	want := []string{
		`waiting  nothing has posted the status "load-test" yet`, `waiting  the status "load-test" is pending`,
		`failed  the status "load-test" is error: 120 requests`, `passed success: 120 requests `,
	}
	if diff := cmp.Diff(want, b.evidence("dev")); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

// TestUnreadableStatusesAreRetried: a forge that does not answer is an error of the round, and neither passes nor fails.
func TestUnreadableStatusesAreRetried(t *testing.T) {
	b, _ := measuring(t, nil, v1alpha1.Verification{Name: "load", CommitStatus: &v1alpha1.CommitStatusVerification{Context: "load-test"}})
	for range 3 {
		b.round()
	}
	before := b.evidence("dev")
	b.fakePipeline.unreadable = &forge.Error{Kind: forge.ErrUnavailable, Op: "read statuses", Detail: "502"}
	b.now = b.now.Add(2 * time.Minute)
	b.clock.Store(&b.now)
	o, err := b.promoter.Round(t.Context(), b.fakePipeline)
	if !errors.Is(err, forge.ErrUnavailable) || o.Environments[0].Phase != decide.Awaiting || !cmp.Equal(before, b.evidence("dev")) {
		t.Errorf("%v %s %v", err, o.Environments[0].Phase, b.evidence("dev"))
	}
}

// TestApprovalsAndBypasses approves a commit and bypasses another verification, with reasons that stay.
func TestApprovalsAndBypasses(t *testing.T) {
	b, _ := measuring(t, nil,
		v1alpha1.Verification{Name: "release", Approval: &v1alpha1.ApprovalVerification{Count: 2, Groups: []string{"release"}, NotAuthor: true}},
		v1alpha1.Verification{Name: "load", CommitStatus: &v1alpha1.CommitStatusVerification{Context: "load-test"}},
	)
	b.fakePipeline.reading.Line[0].Authors = []string{"Dora", "dora@example.com"}
	b.round()
	b.round()
	control := &promote.Control{Ledger: b.ledger, Now: func() time.Time { b.now = b.now.Add(time.Second); return b.now }}
	command := promote.Command{Subject: controlPlane, Environment: "dev", Commit: sha("one"), Check: "release", Groups: []string{"release"}}
	for _, by := range []string{"dora", "anna", "anna"} {
		command.By = by
		if err := control.Approve(t.Context(), command); err != nil {
			t.Fatal(err)
		}
	}
	if s := b.round().Environments[0]; s.Phase != decide.Awaiting || !strings.Contains(s.Reason, "1 of 2 approvals") {
		t.Fatalf("%s %s", s.Phase, s.Reason)
	}
	command.By = "ben"
	if err := control.Approve(t.Context(), command); err != nil {
		t.Fatal(err)
	}
	b.round()
	if s := b.round().Environments[0]; len(s.Checks) != 2 || s.Checks[0].State != decide.CheckPassed || !strings.Contains(s.Reason, `"load"`) {
		t.Fatalf("%+v %s", s.Checks, s.Reason)
	}
	command.Check, command.Groups = "load", nil
	if err := control.Bypass(t.Context(), command); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("a bypass without a reason: %v", err)
	}
	command.Why = "the load test is broken"
	if err := control.Bypass(t.Context(), command); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.round()
	}
	s := b.round().Environments[0]
	if s.Phase != decide.Good || !strings.Contains(s.Reason, `verification "load" was bypassed by ben: the load test is broken`) {
		t.Errorf("%s %s", s.Phase, s.Reason)
	}
	want := map[string]string{
		"dev": "Deployed, load bypassed by ben: the load test is broken", "dev/release": "Approved by anna, ben",
		"dev/load": "Bypassed by ben: the load test is broken",
	}
	for context, description := range want {
		if got := b.fakePipeline.statuses[sha("one")+" "+context]; got != (decide.Status{State: decide.Success, Description: description}) {
			t.Errorf("status of %s: %+v", context, got)
		}
	}
	// A new request for the commit verifies it again, without the old approvals.
	if err := control.Order(t.Context(), promote.Command{Subject: controlPlane, Environment: "dev", Commit: sha("one"), By: "anna"}); err != nil {
		t.Fatal(err)
	}
	b.round()
	if got := b.round().Environments[0].Checks[0]; got.State == decide.CheckPassed || len(got.Approvals) > 0 {
		t.Errorf("after a new request: %+v", got)
	}
}

// TestMeasurementsTakeTurns: one environment that is measured all the time does not keep another one out.
func TestMeasurementsTakeTurns(t *testing.T) {
	b := newBench(t, map[string]*v1alpha1.Promotion{
		"busy": {Verify: []v1alpha1.Verification{{Name: "smoke", Interval: &metav1.Duration{Duration: time.Second}, Count: 1000, HTTP: &v1alpha1.HTTPVerification{URL: "https://shop.example"}}}},
		"calm": {Verify: []v1alpha1.Verification{{Name: "smoke", HTTP: &v1alpha1.HTTPVerification{URL: "https://shop.example"}}}},
	}, "one")
	g := newGate()
	b.promoter = b.newPromoter(g)
	b.promoter.MaxChecks = 1
	ended := b.listen()
	for _, environment := range []string{"busy", "calm"} {
		join(t, b.ledger, "on-"+environment, environment)
		reports(t, b.ledger, environment, revision(environment, sha("one")), b.now, "on-"+environment)
	}
	b.round()
	b.round() // busy is measured, and calm waits
	for range 2 {
		<-g.begun
		g.result <- nil
		<-ended
		b.round()
	}
	calm := b.round().Environments[1]
	if calm.Environment != "calm" || calm.Phase != decide.Good {
		t.Errorf("%s is %s: %s", calm.Environment, calm.Phase, calm.Reason)
	}
}

// sourceMeter is a meter that keeps which commit of main each measurement verifies, and where.
type sourceMeter struct {
	meter
	sources []string
}

func (m *sourceMeter) Run(ctx context.Context, check decide.RunCheck) (measure.Evidence, error) {
	m.mu.Lock()
	m.sources = append(m.sources, check.Environment+" "+check.Source)
	m.mu.Unlock()
	return m.meter.Run(ctx, check)
}

// TestRingsAreVerified compares a ring with an earlier one, waits for an approval there, and bypasses a verification of one ring.
func TestRingsAreVerified(t *testing.T) {
	errors := errorRate(1, 0, "")
	worse := errorRate(1, 0, v1alpha1.BaselineRing+"canary")
	worse.Prometheus.Expression = "!hasBaseline || result <= 2.0 * baseline"
	rules := &v1alpha1.Promotion{Rings: []v1alpha1.Ring{
		{Name: "canary", Verify: []v1alpha1.Verification{errors, {Name: "release", Approval: &v1alpha1.ApprovalVerification{NotAuthor: true}}}},
		{Name: "others", Verify: []v1alpha1.Verification{worse}},
	}}
	b := ringedBy(t, rules)
	values := &sourceMeter{meter: meter{values: []float64{0.002, 0.002, 0.003, 0.009}}}
	b.promoter = b.newPromoter(values)
	ended := b.listen()
	control := &promote.Control{Ledger: b.ledger, Now: func() time.Time { b.now = b.now.Add(time.Second); return b.now }}
	command := promote.Command{Subject: controlPlane, Environment: "prod/canary", Commit: revision("prod", sha("one")), Check: "release", By: "anna"}
	approve := func() {
		t.Helper()
		if err := control.Approve(t.Context(), command); err != nil {
			t.Fatal(err)
		}
	}
	b.fakePipeline.reading.Line[0].Authors = []string{"ben"}
	b.follow()
	<-ended
	b.follow()
	approve()
	b.follow()
	<-ended
	if o := b.follow(); o.Environments[0].Phase != decide.Good {
		t.Fatalf("%s", o.Environments[0].Reason)
	}
	b.merge("two")
	b.fakePipeline.reading.Line[1].Authors = []string{"dora"}
	values.asked, values.sources = nil, nil
	b.follow()
	<-ended
	b.follow()
	revision := revision("prod", sha("two"))
	command.Commit, command.By = revision, "dora"
	approve()
	if o := b.follow(); o.Environments[0].Rings[0].Phase != decide.Awaiting {
		t.Fatalf("the approval of the author counts: %s", o.Environments[0].Rings[0].Reason)
	}
	command.By = "anna"
	approve()
	b.follow()
	<-ended
	o := b.follow()
	if got := o.Environments[0].Rings[1]; got.Phase != decide.Failed || !strings.Contains(got.Reason, "result <= 2.0 * baseline is false") {
		t.Fatalf("others: %s %s", got.Phase, got.Reason)
	}
	if diff := cmp.Diff([]string{"", "0.003 of prod/canary"}, values.asked); diff != "" {
		t.Errorf("baselines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"prod/canary " + sha("two"), "prod/others " + sha("two")}, values.sources); diff != "" {
		t.Errorf("measured (-want +got):\n%s", diff)
	}
	command.Environment, command.Check, command.Why = "prod/others", "errors", "known, and harmless"
	if err := control.Bypass(t.Context(), command); err != nil {
		t.Fatal(err)
	}
	if o = b.follow(); o.Environments[0].Phase != decide.Good {
		t.Errorf("after the bypass: %s %s", o.Environments[0].Phase, o.Environments[0].Reason)
	}
	if got := b.fakePipeline.statuses[revision+" prod/others/errors"]; got.Description != "Bypassed by anna: known, and harmless" {
		t.Errorf("status %+v", got)
	}
}
