package query_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// The source of the application is read with a protocol that its subject does not include.
const shopSource = "http://git.example.com/shop.git"

var (
	older = deliver.Build{Commit: sha("e1"), Version: "1.4.0", Image: "1.4.0"}
	newer = deliver.Build{Commit: sha("e2"), Version: "1.5.0", Image: "1.5.0"}
)

// shopRound returns a round that found the newer build proposed to stage, and running in dev.
func shopRound(t *testing.T) query.Round {
	source := &deliver.Application{
		Source:   schedule.Input{Commit: newer.Commit},
		Delivery: &app.Delivery{Spec: app.DeliverySpec{Environments: []app.Environment{{Name: "dev", AutoMerge: true}, {Name: "stage"}}}},
	}
	gitOps := func(branch string, b deliver.Build) *deliver.GitOps {
		return &deliver.GitOps{
			GitOpsBranch: schedule.GitOpsBranch{
				Location: schedule.Location{Repo: "http://git.example.com/shop-gitops.git", Branch: branch},
				Head:     schedule.Head{Commit: sha("a1")}, Exists: true,
			},
			Build: b,
		}
	}
	held := fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindHeld, Message: "replicas is not a number"}
	return query.Round{
		ControlPlane: controlPlane, Request: deliver.Request{Source: shopSource, Workload: "shop", Workspace: "east"}, At: clock(t, "10:00"),
		Found: &deliver.Delivered{
			App: source, Builds: map[string]deliver.Build{older.Commit: older, newer.Commit: newer},
			Commits: []promote.Commit{{SHA: older.Commit, Subject: "Open"}, {SHA: newer.Commit, Subject: "Open earlier"}},
			Errors:  map[string]error{},
			Environments: map[string]*deliver.Outcome{
				"dev": {App: source, GitOps: gitOps("dev", newer)},
				"stage": {
					App: source, GitOps: gitOps("stage", older), Waits: "a person merges it",
					PullRequest: &forge.PullRequest{Number: 7, Title: "stage: deliver shop 1.5.0 (1 changed)", State: forge.Open},
					Draft: &deliver.Draft{
						Config:   &deliver.Config{Location: schedule.Location{Repo: "http://git.example.com/shop-configs", Branch: "stage"}, Input: schedule.Input{Commit: sha("b1")}},
						Findings: []check.Finding{{Rule: "latest-tag", Level: check.Warn, Message: "a tag that moves"}},
						Plan: &deliver.Plan{
							Workload: "shop", Environment: "stage", From: older, To: newer, Files: 3, Counts: plan.Counts{Changed: 1, Held: 1},
							Targets:  []deliver.TargetChange{{Name: "web", Op: plan.Held, Reason: &held}},
							Drift:    []bundle.Drift{{Path: "web/manifests.yaml"}},
							Problems: []fleet.Problem{held},
						},
					},
				},
			},
			Promotion: &promote.Outcome{Environments: []promote.Standing{
				{
					Environment: "dev", Phase: decide.Good, Commit: newer.Commit, Reason: "runs on 1 cluster",
					Verdict: comply.Verdict{Commit: sha("a1"), Result: comply.Passed, Counts: comply.Counts{Expected: 1, Reached: 1}},
				},
				{Environment: "stage", Phase: decide.Proposed, Commit: newer.Commit, After: []string{"dev"}, Reason: "waits for its pull request to be merged"},
			}},
		},
	}
}

func TestApplicationShowsItsLastRound(t *testing.T) {
	a := query.Delivered(shopRound(t), nil)
	if a.Name != "shop" || a.Subject != "https://git.example.com/shop#shop" || a.Source.Repository != shopSource || a.Title != "Open earlier" {
		t.Errorf("got %+v", a)
	}
	dev, stage := a.Environments[0], a.Environments[1]
	if *dev.Build != newer || *dev.Published != newer || dev.Gate.SourceCommit != newer.Commit || !dev.AutoMerge {
		t.Errorf("dev: got %+v", dev)
	}
	// A proposed build does not run yet, and no cluster is expected to run it.
	if *stage.Build != newer || *stage.Published != older || stage.Gate != nil || stage.AutoMerge || stage.Change.Waits != "a person merges it" {
		t.Errorf("stage: got %+v", stage)
	}
	if got := stage.GitOps; got.URL != "http://git.example.com/shop-gitops.git" || got.Repository != "https://git.example.com/shop-gitops" {
		t.Errorf("the repository is %+v", got)
	}
	if stage.Problems.Errors != 1 || a.Problems.Errors != 1 || stage.Findings.Warn != 1 || stage.Held != 1 || stage.Drift != 1 || stage.Configuration.Commit != sha("b1") {
		t.Errorf("stage: got %+v", stage)
	}
	d := stage.Detail
	if !d.Plan.Promotes || d.Plan.Files != 3 || d.HeldList[0].Target != "web" || d.DriftList[0] != "web/manifests.yaml" || len(d.Findings) != 1 || len(d.ProblemList) != 1 {
		t.Errorf("stage: got %+v", d)
	}
}

func TestUnknownFieldsKeepTheirValues(t *testing.T) {
	was := query.Delivered(shopRound(t), nil)
	r := shopRound(t)
	r.Found.Errors["stage"] = errors.New("the forge is down")
	r.Found.Environments["stage"] = &deliver.Outcome{}
	r.Found.Promotion.Environments[1].Phase = decide.Unknown
	a := query.Delivered(r, was)
	stage := a.Environments[1]
	if stage.Error != "the forge is down" || stage.Phase != decide.Unknown || stage.Change == nil || stage.Held != 1 || len(stage.Detail.HeldList) != 1 {
		t.Errorf("got %+v", stage)
	}
	if was.Environments[1].Error != "" || was.Environments[1].Phase != decide.Proposed {
		t.Error("what is shared was changed")
	}
	failed := query.Delivered(query.Round{
		ControlPlane: controlPlane, Request: r.Request, Found: &deliver.Delivered{}, Err: errors.New("http://user:secret@git.example.com is gone"), At: clock(t, "10:05"),
	}, was)
	if strings.Contains(failed.Error, "secret") || failed.Error == "" || len(failed.Environments) != 2 || failed.Same(was) {
		t.Errorf("got %+v", failed)
	}
	if again := query.Delivered(shopRound(t), was); !again.Same(was) {
		t.Error("the same round is something new")
	}
}

func TestApplications(t *testing.T) {
	w := newWorld(t)
	w.fact(`09:50 delivered shop#shop stage ` + newer.Commit + ` started - - it ran in dev`)
	w.fact(`09:55 step stage ` + sha("c1") + ` started - - the platform's`)
	shop := query.Delivered(shopRound(t), nil)
	cart := *shop
	cart.Name, cart.Subject, cart.Workspace = "cart", "https://git.example.com/cart#cart", "west"
	other := *shop
	other.Subject, other.ControlPlane = "https://git.example.com/fork#shop", controlPlane+"-2"
	o := &query.Observer{
		Ledger: w.Ledger, Now: func() time.Time { return clock(t, "11:00") },
		Fleet: planes{{URL: controlPlane, Applications: []*query.Application{&cart, shop}}, {URL: controlPlane + "-2", Applications: []*query.Application{&other}}},
	}
	for _, c := range []struct {
		query query.ApplicationsQuery
		want  []string
	}{
		{query.ApplicationsQuery{}, []string{cart.Subject, other.Subject, shop.Subject}},
		{query.ApplicationsQuery{Workspace: "west"}, []string{cart.Subject}},
		{query.ApplicationsQuery{ControlPlane: "http://git.example.com/control-plane.git", Name: "shop"}, []string{shop.Subject}},
		{query.ApplicationsQuery{Environment: "dev", Phase: decide.Proposed}, nil},
		{query.ApplicationsQuery{Phase: decide.Proposed, Paging: query.Paging{Limit: 1}}, []string{cart.Subject}},
	} {
		page, err := o.Applications(t.Context(), c.query)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range page.Items {
			got = append(got, a.Subject)
			if a.Environments[0].Detail != nil {
				t.Error("a list has details")
			}
		}
		if diff := cmp.Diff(got, c.want); diff != "" {
			t.Errorf("%+v (-got +want):\n%s", c.query, diff)
		}
		if (page.Next != "") != (c.query.Limit == 1) {
			t.Errorf("%+v: next is %q", c.query, page.Next)
		}
	}
	if _, err := o.Application(t.Context(), query.ApplicationQuery{Name: "shop"}); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("two of one name: got %v", err)
	}
	d, err := o.Application(t.Context(), query.ApplicationQuery{Name: "shop", Subject: shop.Subject})
	if err != nil {
		t.Fatal(err)
	}
	if steps := d.Environments[1].Detail.Steps; len(steps) != 1 || steps[0].Commit != newer.Commit {
		t.Errorf("the steps are %+v", steps)
	}
	if len(d.History) != 1 || d.History[0].Summary != "shop stage: e200000 started" {
		t.Errorf("the history is %+v", d.History)
	}
	var missing *query.UnknownError
	if _, err := o.Application(t.Context(), query.ApplicationQuery{Name: "shp"}); !errors.As(err, &missing) || missing.Near[0] != "shop" {
		t.Errorf("got %v", err)
	}
}
