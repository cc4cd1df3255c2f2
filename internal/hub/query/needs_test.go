package query_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// needsOf returns the needs of one control plane.
func needsOf(t *testing.T, cp query.ControlPlane, q query.NeedsQuery) query.Needs {
	t.Helper()
	cp.URL = controlPlane
	o := &query.Observer{Ledger: newWorld(t).Ledger, Fleet: planes{cp}, Now: func() time.Time { return clock(t, "12:00") }}
	found, err := o.Needs(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// inShort returns needs, one per line.
func inShort(all []query.UserNeed) []string {
	var lines []string
	for _, n := range all {
		line := fmt.Sprintf("%s: %s -> %s (%s)", n.Kind, n.Text, n.Action, strings.Join(n.Environments, " "))
		if n.Count > 0 {
			line += fmt.Sprintf(" %d %s", n.Count, strings.Join(n.Clusters, " "))
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// round returns a scheduling round in which all is well.
func round(t *testing.T) *query.Scheduled {
	return &query.Scheduled{At: clock(t, "11:59"), Outcome: &schedule.Outcome{Plan: &plan.Plan{}}}
}

func failing(t *testing.T, environment string, reasons ...string) promote.Standing {
	v := comply.Verdict{Commit: sha("a1"), Result: comply.Failed}
	for i, reason := range reasons {
		v.Reconcilers = append(v.Reconcilers, comply.Reconciler{
			Cluster: fmt.Sprintf("%s-%d", environment, i+1), State: comply.Broken, Reason: reason, Since: clock(t, "10:00").Add(time.Duration(i) * time.Minute),
		})
	}
	return promote.Standing{Environment: environment, Phase: decide.Failed, Commit: sha("c1"), Verdict: v}
}

func TestNothingNeedsAUser(t *testing.T) {
	got := needsOf(t, query.ControlPlane{
		Environments: []string{"dev"}, Promotion: &promote.Outcome{Environments: []promote.Standing{{Environment: "dev", Phase: decide.Good}}},
		Scheduling: map[string]*query.Scheduled{"dev": round(t)},
	}, query.NeedsQuery{})
	if len(got.Items) > 0 || len(got.Unsure) > 0 || got.Total != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestWhatWasNotReadIsUnsure checks that nothing is taken as well that was not read.
func TestWhatWasNotReadIsUnsure(t *testing.T) {
	broken := round(t)
	broken.Err = errors.New("read https://ann:secret@git.example.com/gitops: timeout")
	for name, c := range map[string]struct {
		cp   query.ControlPlane
		want []string
	}{
		"no round yet":  {query.ControlPlane{}, []string{": the control plane has not been read yet"}},
		"unreadable":    {query.ControlPlane{Err: errors.New("gone"), Environments: []string{}, Promotion: &promote.Outcome{}}, []string{": the control plane cannot be read"}},
		"no scheduling": {query.ControlPlane{Environments: []string{"dev"}, Promotion: &promote.Outcome{}}, []string{"dev: its repositories have not been read yet"}},
		"a failed round": {
			query.ControlPlane{Environments: []string{"dev"}, Scheduling: map[string]*query.Scheduled{"dev": broken}},
			[]string{": promotions have not been checked yet", "dev: the last round failed: read https://git.example.com/gitops: timeout"},
		},
		"an application": {
			query.ControlPlane{Environments: []string{}, Promotion: &promote.Outcome{}, Applications: []*query.Application{{Name: "shop", Error: "no such branch", LastRound: clock(t, "11:00")}}},
			[]string{": the last round failed: no such branch"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, u := range needsOf(t, c.cp, query.NeedsQuery{}).Unsure {
				got = append(got, u.Environment+": "+u.Text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	alone := &query.Observer{Ledger: newWorld(t).Ledger, Now: time.Now}
	if got, err := alone.Needs(t.Context(), query.NeedsQuery{}); err != nil || len(got.Unsure) != 1 {
		t.Errorf("a ledger alone: got %+v, %v", got, err)
	}
}

func TestClustersAreGroupedByCauseInAllEnvironments(t *testing.T) {
	cp := query.ControlPlane{
		Environments: []string{"dev", "prod"},
		Promotion: &promote.Outcome{Environments: []promote.Standing{
			failing(t, "dev", "fails at 1f0c2aa: quota of 3 pods exceeded", "fails at 1f0c2aa: status code 401"),
			failing(t, "prod", "fails at 22b0c1d: quota of 12 pods exceeded", "fails at 22b0c1d: status code 503"),
		}},
		Scheduling: map[string]*query.Scheduled{"dev": round(t), "prod": round(t)},
	}
	want := []string{
		"clusters: fails at 1f0c2aa: quota of 3 pods exceeded -> inspect (dev prod) 2 dev-1 prod-1",
		"clusters: fails at 1f0c2aa: status code 401 -> inspect (dev) 1 dev-2",
		"clusters: fails at 22b0c1d: status code 503 -> inspect (prod) 1 prod-2",
	}
	if diff := cmp.Diff(want, inShort(needsOf(t, cp, query.NeedsQuery{}).Items)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := needsOf(t, cp, query.NeedsQuery{Environment: "prod"}); got.Total != 2 {
		t.Errorf("prod has %d needs: %q", got.Total, inShort(got.Items))
	}
}

func TestTheMostUrgentNeedIsFirst(t *testing.T) {
	dev, prod := round(t), round(t)
	prod.Outcome.Plan.Refusals = []plan.Refusal{{Reason: plan.RefusedBudget, Message: "8 of 10 assignments are removed, 5 are allowed"}}
	prod.Outcome.Plan.Budget.Removals = 8
	prod.Outcome.PullRequest = &forge.PullRequest{Number: 4, Title: "prod: 8 removed", URL: "https://git.example.com/pulls/4", State: forge.Open}
	dev.Outcome.PullRequest = &forge.PullRequest{Number: 3, Title: "dev: 1 added", State: forge.Open}
	syntax := fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindYAMLSyntax, Message: "a tab", Position: fleet.Position{Source: "main", File: "a.yaml", Line: 7}}
	value := fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindConfigMissing, Message: "REGION has no value", Assignment: "large/shop"}
	dev.Outcome.Plan.Problems = []fleet.Problem{syntax, value, {Severity: fleet.SeverityNotice, Message: "a built-in template"}}
	prod.Outcome.Plan.Problems = []fleet.Problem{syntax}
	cp := query.ControlPlane{
		Environments: []string{"dev", "prod"},
		Promotion: &promote.Outcome{Environments: []promote.Standing{
			{Environment: "dev", Pause: &decide.Pause{By: "ann", Why: "sale"}},
			{
				Environment: "prod", Phase: decide.Checking, Commit: sha("c1"),
				Checks: []decide.CheckProgress{
					{Name: "release", Kind: "approval", State: decide.CheckWaiting, Reason: "1 of 2"},
					{Name: "load", Kind: "http", State: decide.CheckRunning},
				},
				Proposals: []promote.Proposal{{Proposal: decide.Proposal{Commit: sha("c2"), State: decide.ProposalOpen, URL: "https://git.example.com/pulls/9"}}},
			},
		}},
		Scheduling: map[string]*query.Scheduled{"dev": dev, "prod": prod},
	}
	got := needsOf(t, cp, query.NeedsQuery{})
	want := []string{
		"removals: 8 of 10 assignments are removed, 5 are allowed; the label kalypso/allow-deletions approves them -> allow (prod) 8",
		"approval: release waits for approval in prod -> approve (prod)",
		"promotion: The promotion of c200000 to prod waits to be merged -> merge (prod)",
		"merge: dev: 1 added -> merge (dev)",
		"value: REGION has no value -> edit (dev) 1",
		"problem: a tab -> edit (dev prod)",
		"resume: Promotions to dev are paused by ann -> resume (dev)",
	}
	if diff := cmp.Diff(want, inShort(got.Items)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if page := needsOf(t, cp, query.NeedsQuery{Paging: query.Paging{Limit: 3}}); page.Next == "" || page.Total != 7 || len(page.Items) != 3 {
		t.Errorf("a page of 3: got %d of %d, next %q", len(page.Items), page.Total, page.Next)
	}
}

// TestWhatGoesOnAloneNeedsNobody checks that checks that still run, and clusters that catch up, are not listed.
func TestWhatGoesOnAloneNeedsNobody(t *testing.T) {
	for waits, want := range map[string]int{
		"status build is pending": 0, "checks of the commit may still appear, until 10:00:00 UTC": 0,
		"status build is failure": 1, "the forge does not merge it yet: conflict": 1, "": 1,
	} {
		dev := round(t)
		dev.Outcome.Waits, dev.Outcome.PullRequest = waits, &forge.PullRequest{Number: 3, Title: "dev: 1 added", State: forge.Open}
		behind := failing(t, "dev", "still at 1f0c2aa")
		behind.Verdict.Result, behind.Verdict.Reconcilers[0].State = comply.Waiting, comply.Behind
		got := needsOf(t, query.ControlPlane{
			Environments: []string{"dev"}, Promotion: &promote.Outcome{Environments: []promote.Standing{behind}}, Scheduling: map[string]*query.Scheduled{"dev": dev},
		}, query.NeedsQuery{})
		if got.Total != want {
			t.Errorf("%q: got %q", waits, inShort(got.Items))
		}
	}
}

// TestWhatWasAbortedIsNotToBeMerged checks that no one is asked to merge the manifests of an aborted commit.
func TestWhatWasAbortedIsNotToBeMerged(t *testing.T) {
	dev := round(t)
	dev.Outcome.PullRequest = &forge.PullRequest{Number: 3, Title: "dev: 1 changed", State: forge.Open}
	got := needsOf(t, query.ControlPlane{
		Environments: []string{"dev"}, Scheduling: map[string]*query.Scheduled{"dev": dev},
		Promotion: &promote.Outcome{Environments: []promote.Standing{{Environment: "dev", Phase: decide.TakenBack, Commit: sha("c1"), Reason: "c100000 was aborted by anna"}}},
	}, query.NeedsQuery{})
	if len(got.Items) != 1 || got.Items[0].Action != query.ActReview || got.Items[0].Reason != "It is not to be merged: c100000 was aborted by anna" {
		t.Errorf("got %+v", got.Items)
	}
}

func TestClusterTypesWithoutClusters(t *testing.T) {
	w := newWorld(t)
	w.fact("10:00 register c1 dev/small")
	o := &query.Observer{Ledger: w.Ledger, Now: func() time.Time { return clock(t, "12:00") }, Fleet: planes{{
		URL: controlPlane, Environments: []string{"dev"}, Promotion: &promote.Outcome{},
		Scheduling: map[string]*query.Scheduled{"dev": scheduled("dev", "shop web\nlarge-10 size=large\nlarge-2 size=large\nsmall size=small", nil, clock(t, "11:00"))},
	}}}
	got, err := o.Needs(t.Context(), query.NeedsQuery{Kind: query.NeedCluster})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cluster: No clusters of large-2, large-10 in dev yet -> register (dev)"}, inShort(got.Items)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestApplicationsNeedUsers(t *testing.T) {
	r := shopRound(t)
	stage := r.Found.Environments["stage"]
	stage.Waits = ""
	stage.Draft.Plan.Problems[0].Kind = fleet.KindConfigMissing
	a := query.Delivered(r, nil)
	cp := query.ControlPlane{Environments: []string{}, Promotion: &promote.Outcome{}, Applications: []*query.Application{a}}
	want := []string{
		"merge: stage: deliver shop 1.5.0 (1 changed) -> merge (stage)",
		"value: replicas is not a number -> edit (stage)",
	}
	if diff := cmp.Diff(want, inShort(needsOf(t, cp, query.NeedsQuery{}).Items)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	stage.Draft.Findings[0].Level = check.Refuse
	cp.Applications = []*query.Application{query.Delivered(r, nil)}
	if got := needsOf(t, cp, query.NeedsQuery{Kind: query.NeedChecks}); got.Total != 1 || got.Items[0].PullRequest.Number != 7 || got.Items[0].Application != "shop" {
		t.Errorf("refused manifests: got %q", inShort(got.Items))
	}
}

// TestManyNeedsAreBounded checks that a fleet in which everything fails in its own way has pages, and is fast.
func TestManyNeedsAreBounded(t *testing.T) {
	var reasons []string
	for i := range 10_000 {
		reasons = append(reasons, "image shop:1."+fmt.Sprint(i%3000)+" not found")
	}
	cp := query.ControlPlane{
		Environments: []string{"dev"}, Promotion: &promote.Outcome{Environments: []promote.Standing{failing(t, "dev", reasons...)}},
		Scheduling: map[string]*query.Scheduled{"dev": round(t)},
	}
	start := time.Now()
	got := needsOf(t, cp, query.NeedsQuery{Paging: query.Paging{Limit: 8}})
	if got.Total != 3000 || len(got.Items) != 8 || got.Items[0].Count < 3 || len(got.Items[0].Clusters) > 5 {
		t.Errorf("got %d of %d: %q", len(got.Items), got.Total, inShort(got.Items))
	}
	t.Logf("%d causes of %d clusters in %s", got.Total, len(reasons), time.Since(start))
}
