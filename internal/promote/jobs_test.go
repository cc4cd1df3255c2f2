package promote_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// jobsOn returns a bench whose clusters run a commit that is verified with a Job.
func jobsOn(t *testing.T, v v1alpha1.Verification, gate *v1alpha1.Gate, clusters ...string) *bench {
	v.Name, v.Job = "smoke", &v1alpha1.JobVerification{Template: "smoke", Timeout: &metav1.Duration{Duration: 5 * time.Minute}}
	b := newBench(t, map[string]*v1alpha1.Promotion{"dev": {Gate: gate, Verify: []v1alpha1.Verification{v}}}, "one")
	for _, c := range clusters {
		join(t, b.ledger, c, "dev")
	}
	reports(t, b.ledger, "dev", revision("dev", sha("one")), b.now, clusters...)
	b.round() // records that the commit was promoted
	b.round() // begins to verify it
	b.round()
	return b
}

// says sends a heartbeat of an agent that runs Jobs, with the states of those that it was asked to run, and returns those it should run.
func (b *bench) says(cluster string, state hub.JobState, message string) []hub.JobRequest {
	batch := hub.ReportBatch{RunsJobs: true}
	wanted := b.promoter.Jobs(cluster, &batch)
	if state == "" {
		return wanted
	}
	for _, request := range wanted {
		batch.Jobs = append(batch.Jobs, hub.JobResult{ID: request.ID, State: state, Message: message})
	}
	return b.promoter.Jobs(cluster, &batch)
}

// TestJobsAreRequestedUntilTheyAnswer: the request names a template and how long it may run, and ends with the answer of the cluster.
func TestJobsAreRequestedUntilTheyAnswer(t *testing.T) {
	b := jobsOn(t, v1alpha1.Verification{}, nil, "a", "b")
	wanted := b.says("a", "", "")
	if len(wanted) != 1 {
		t.Fatalf("requests: %+v", wanted)
	}
	want := hub.JobRequest{ID: wanted[0].ID, Template: "smoke", Environment: "dev", Revision: revision("dev", sha("one")), Seconds: 300}
	if diff := cmp.Diff(want, wanted[0]); diff != "" || len(want.ID) != 32 {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if got := b.says("stranger", "", ""); got != nil {
		t.Errorf("a cluster that is not in the environment is asked: %+v", got)
	}
	woken := b.listen()
	if got := b.says("a", hub.JobRunning, ""); !cmp.Equal(got, wanted) || len(woken) != 0 {
		t.Errorf("while it runs: %+v, woken %d times", got, len(woken))
	}
	if got := b.says("a", hub.JobSucceeded, ""); got != nil || len(woken) != 1 {
		t.Errorf("after the answer: %+v, woken %d times", got, len(woken))
	}
	s := b.round().Environments[0]
	if s.Phase != decide.Checking || !strings.Contains(s.Reason, "0 of 2 clusters succeeded") {
		t.Errorf("%s %s", s.Phase, s.Reason) // the round decides, and then records the answer
	}
	if s = b.round().Environments[0]; !strings.Contains(s.Reason, "1 of 2 clusters succeeded") {
		t.Errorf("%s %s", s.Phase, s.Reason)
	}

	// Another server, or this one after a restart, requests the same run, and knows what is recorded.
	b.promoter = b.newPromoter(nil)
	if got := b.says("b", "", ""); got != nil {
		t.Errorf("before the first round: %+v", got)
	}
	b.round()
	if got := b.says("b", "", ""); !cmp.Equal(got, wanted) {
		t.Errorf("after a restart: %+v, want %+v", got, wanted)
	}
	if got := b.says("a", "", ""); got != nil {
		t.Errorf("a is asked again: %+v", got)
	}
	b.says("b", hub.JobSucceeded, "")
	b.round()
	if s = b.round().Environments[0]; s.Phase != decide.Good {
		t.Errorf("%s %s", s.Phase, s.Reason)
	}
	if diff := cmp.Diff([]string{"a succeeded", "b succeeded"}, b.reasons("dev", promote.Ran)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if got := b.evidence("dev"); got[len(got)-1] != "passed 2 of 2 clusters succeeded " {
		t.Errorf("evidence %q", got)
	}
	if got := b.fakePipeline.statuses[sha("one")+" dev/smoke"]; got.State != decide.Success || got.Description != "Passed: 2 of 2 clusters succeeded" {
		t.Errorf("status %+v", got)
	}
}

// TestAgentsThatRunNoJobs: an agent that is too old, or not allowed to run Jobs, never counts as a success.
func TestAgentsThatRunNoJobs(t *testing.T) {
	reporting := &v1alpha1.Gate{OfflineAfter: &metav1.Duration{Duration: 2 * time.Hour}}
	b := jobsOn(t, v1alpha1.Verification{Timeout: &metav1.Duration{Duration: 30 * time.Minute}}, reporting, "a", "b", "c")
	b.says("a", hub.JobSucceeded, "")
	b.says("b", hub.JobImpossible, "no CronJob has the label")
	if got := b.promoter.Jobs("c", &hub.ReportBatch{}); got != nil {
		t.Errorf("an agent that runs no jobs is asked: %+v", got)
	}
	b.round()
	want := "1 of 3 clusters succeeded; not known: b: no CronJob has the label, c: its agent does not run jobs"
	s := b.round().Environments[0]
	if s.Phase != decide.Checking || !strings.Contains(s.Reason, want) {
		t.Errorf("%s %s", s.Phase, s.Reason)
	}
	for range 30 {
		s = b.round().Environments[0]
	}
	if s.Phase != decide.Failed || !strings.Contains(s.Reason, "timed out after 30m") || !strings.Contains(s.Reason, want) {
		t.Errorf("%s %s", s.Phase, s.Reason)
	}
	if got := b.says("b", "", ""); got != nil {
		t.Errorf("asked after the end: %+v", got)
	}
}

// TestAnswersAreRecordedOnce: the text of an answer is recorded when it is new, in the form in which it is shown.
func TestAnswersAreRecordedOnce(t *testing.T) {
	for name, message := range map[string]string{
		"long": strings.Repeat("no rights ", 100), "two lines": "no  rights:\nbind the role", "a credential": "get https://me:pass@registry.example: no",
	} {
		t.Run(name, func(t *testing.T) {
			b := jobsOn(t, v1alpha1.Verification{}, nil, "a", "b")
			for range 5 {
				b.says("a", hub.JobImpossible, message)
				b.round()
			}
			if got := b.reasons("dev", promote.Ran); len(got) != 1 || strings.Contains(got[0], "pass") {
				t.Errorf("%d steps: %q", len(got), got)
			}
		})
	}
}

// TestTextsOfAnswersAreRecordedAtIntervals: a text that differs each time gives at most one step a minute.
func TestTextsOfAnswersAreRecordedAtIntervals(t *testing.T) {
	b := jobsOn(t, v1alpha1.Verification{}, nil, "a", "b", "c")
	begin := b.now
	for i := range 30 {
		b.says("a", hub.JobImpossible, fmt.Sprintf("a, attempt %d", i))
		b.says("b", hub.JobImpossible, fmt.Sprintf("b, attempt %d", i))
		b.now = begin.Add(time.Duration(i)*5*time.Second - time.Minute) // a round is a minute later
		b.round()
	}
	if got := b.reasons("dev", promote.Ran); len(got) != 3 {
		t.Errorf("%d steps in two and a half minutes: %q", len(got), got)
	}
	b.says("c", hub.JobFailed, "a new state is recorded at once")
	b.now = b.now.Add(-time.Minute)
	b.round()
	if got := b.reasons("dev", promote.Ran); len(got) != 4 || !strings.Contains(got[3], "a, attempt 29") {
		t.Errorf("steps: %q", got)
	}
}

// TestJobsOfARingWithASuspendedCluster: a job is verified on the clusters that the gate of the ring counts.
func TestJobsOfARingWithASuspendedCluster(t *testing.T) {
	smoke := []v1alpha1.Verification{{Name: "smoke", Job: &v1alpha1.JobVerification{Template: "smoke"}}}
	b := ringedBy(t, &v1alpha1.Promotion{Rings: []v1alpha1.Ring{{Name: "canary", Verify: smoke}}})
	ring := &b.fakePipeline.place("prod").Rings.Stages[0]
	for _, c := range []string{"b", "c", "d"} {
		join(t, b.ledger, c, "prod")
	}
	ring.Clusters = []string{"b", "c", "c0", "d"}
	round := func() promote.RingStanding {
		if ring.Commit != "" {
			reports(t, b.ledger, ring.Branch, ring.Commit, b.now, "b", "c", "d")
			suspended := ledger.Report{
				Reconciler: ledger.ReconcilerID{Cluster: "c0", Kind: "Kustomization", Namespace: "flux-system", Name: "platform-" + ring.Branch},
				Outcome: ledger.Outcome{
					Source:   ledger.Source{Repository: "https://git.example/platform/gitops", Ref: ring.Branch, Path: "large"},
					Revision: sha("old"), State: ledger.StateSuspended,
				},
				Observed: b.now, Received: b.now,
			}
			if err := b.ledger.Report(t.Context(), suspended); err != nil {
				t.Fatal(err)
			}
		}
		return b.round().Environments[0].Rings[0]
	}
	for range 6 {
		round()
	}
	b.says("b", hub.JobSucceeded, "")
	b.says("c", hub.JobSucceeded, "")
	round()
	if got := round(); got.Phase != decide.Checking || !strings.Contains(got.Reason, "2 of 3 clusters succeeded") {
		t.Errorf("%s %s", got.Phase, got.Reason)
	}
	if got := b.says("c0", "", ""); got != nil {
		t.Errorf("the suspended cluster is asked: %+v", got)
	}
	b.says("d", hub.JobSucceeded, "")
	round()
	if got := round(); got.Phase != decide.Good {
		t.Errorf("%s %s", got.Phase, got.Reason)
	}
}

// TestJobsWhileASiteIsOnHold: a job of the environment does not wait for a cluster that is changed later.
func TestJobsWhileASiteIsOnHold(t *testing.T) {
	smoke := []v1alpha1.Verification{{Name: "smoke", Job: &v1alpha1.JobVerification{Template: "smoke"}}}
	b := ringedBy(t, &v1alpha1.Promotion{Verify: smoke, Rings: []v1alpha1.Ring{{Name: "canary"}, {Name: "others"}}})
	rings := b.fakePipeline.place("prod").Rings
	west := fleet.Stage{Name: "canary.cluster-west", Ring: "canary", Clusters: []string{"west"}}
	rings.Stages = slices.Insert(rings.Stages, 1, promote.RingState{Stage: west, Branch: fleet.RingBranch("prod", west.Name)})
	join(t, b.ledger, "west", "prod")
	succeed := func(want string, clusters ...string) {
		t.Helper()
		b.follow()
		for _, c := range clusters {
			b.says(c, hub.JobSucceeded, "")
		}
		if o := b.follow(); o.Environments[0].Phase != decide.Good {
			t.Errorf("%s %s", o.Environments[0].Phase, o.Environments[0].Reason)
		}
		if got := b.evidence("prod"); len(got) == 0 || got[len(got)-1] != "passed "+want+" " {
			t.Errorf("evidence %q, want %q", got, want)
		}
	}
	succeed("3 of 3 clusters succeeded", "c0", "west", "c1")
	rings.Stages[1].Hold = &v1alpha1.Hold{Reason: "inventory"}
	b.merge("two")
	succeed("2 of 2 clusters succeeded", "c0", "c1")
}

// TestJobsThatFail: as many clusters must succeed as the gate requires, and a measurement that fails is followed by another one.
func TestJobsThatFail(t *testing.T) {
	most := intstr.FromString("75%")
	b := jobsOn(t, v1alpha1.Verification{FailureLimit: 1, Interval: &metav1.Duration{Duration: 2 * time.Minute}}, &v1alpha1.Gate{Require: &most}, "a", "b", "c", "d")
	first := b.says("a", hub.JobFailed, "BackoffLimitExceeded")
	b.says("b", hub.JobSucceeded, "")
	b.round()
	if s := b.round().Environments[0]; s.Phase != decide.Checking || !strings.Contains(s.Reason, "1 of 4 clusters succeeded, 3 required; failed: a: BackoffLimitExceeded") {
		t.Fatalf("one may fail: %s %s", s.Phase, s.Reason)
	}
	b.says("c", hub.JobFailed, "DeadlineExceeded")
	b.round()
	if got := b.says("d", "", ""); got != nil {
		t.Errorf("asked between two measurements: %+v", got)
	}
	for range 3 {
		b.round()
	}
	second := b.says("a", "", "")
	if len(second) != 1 || slices.ContainsFunc(first, func(r hub.JobRequest) bool { return r.ID == second[0].ID }) {
		t.Fatalf("the second measurement is not a new run: %+v", second)
	}
	for _, cluster := range []string{"a", "b", "c"} {
		b.says(cluster, hub.JobSucceeded, "")
	}
	b.round()
	if s := b.round().Environments[0]; s.Phase != decide.Good {
		t.Errorf("%s %s", s.Phase, s.Reason)
	}
	steps, err := b.ledger.Steps(t.Context(), ledger.StepQuery{Environment: "dev", Kind: string(promote.Verified)})
	if err != nil {
		t.Fatal(err)
	}
	failed := "2 of 4 clusters failed: a: BackoffLimitExceeded, c: DeadlineExceeded"
	if !slices.ContainsFunc(steps, func(s ledger.Step) bool {
		return s.Reason == failed && strings.Contains(string(s.Detail), `a: BackoffLimitExceeded\nc: DeadlineExceeded`)
	}) {
		t.Errorf("no step has the reason %q: %+v", failed, steps)
	}
}
