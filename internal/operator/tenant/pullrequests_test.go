package tenant

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// tenantOf returns the tenant of the control plane of a fleet.
func tenantOf(t *testing.T, f *fleettest.Fleet, o Options, change ...func(*operator.Access)) *Tenant {
	t.Helper()
	if o.Folder == "" {
		o.Folder = t.TempDir()
	}
	o.Allowed = append(o.Allowed, f.URL)
	o.Settle = new(time.Duration)
	a := access("shop", f.URL, giteatest.Token)
	a.Spec.Source.Repository = f.URL + "/" + fleettest.ControlPlane
	for _, c := range change {
		c(&a)
	}
	tenants := New(o)
	open, err := tenants.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tenants.Forget(a.Name) })
	return open.(*Tenant)
}

func (t *Tenant) mustPlan(tb testing.TB) operator.PullRequests {
	tb.Helper()
	result, err := t.PlanPullRequests(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return result
}

// branchOff creates a branch of the control plane where another one is.
func branchOff(f *fleettest.Fleet, from, branch string) {
	f.Helper()
	r, err := f.Client.Open(f.Context(), f.URL+"/"+fleettest.ControlPlane)
	if err == nil {
		err = r.Push(f.Context(), branch, "", git.Commit{Hash: f.Head(fleettest.ControlPlane, from)})
	}
	if err != nil {
		f.Fatal(err)
	}
}

// A pull request of the control plane gets the comment and the status of "kalypso serve", again after a push, and is forgotten when it is closed.
func TestPullRequestsArePlanned(t *testing.T) {
	f, gitea := fleettest.NewGiteaFleet(t)
	tenant := tenantOf(t, f, Options{})
	repo := f.Repo(fleettest.ControlPlane)
	propose := func(branch, file, content string) forge.PullRequest {
		t.Helper()
		branchOff(f, "dev", branch)
		f.Push(fleettest.ControlPlane, branch, map[string]string{file: content})
		change, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: branch, Base: "dev", Title: branch})
		if err != nil {
			t.Fatal(err)
		}
		return change
	}
	status := func(branch string) forge.Status {
		t.Helper()
		all, err := repo.Statuses(t.Context(), f.Head(fleettest.ControlPlane, branch))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if s.Context == schedule.StatusPlan {
				return s
			}
		}
		return forge.Status{}
	}
	if diff := cmp.Diff(operator.PullRequests{}, tenant.mustPlan(t)); diff != "" {
		t.Errorf("without pull requests (-want +got):\n%s", diff)
	}
	good := propose("topic", "notes.md", "nothing\n")
	wrong := propose("wrong", "cluster-types/wrong.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: wrong}\nspec: {reconciler: none-such}\n")
	want := operator.PullRequests{Planned: 2, Did: []string{"posted the plan of pull request 1", "posted the plan of pull request 2"}}
	if diff := cmp.Diff(want, tenant.mustPlan(t)); diff != "" {
		t.Errorf("two pull requests (-want +got):\n%s", diff)
	}
	if s := status("topic"); s.State != forge.Success || s.Description != "changes nothing in the fleet" {
		t.Errorf("the status of pull request %d is %+v", good.Number, s)
	}
	if s := status("wrong"); s.State != forge.Failure || !strings.Contains(s.Description, "new problem") {
		t.Errorf("the status of pull request %d is %+v", wrong.Number, s)
	}
	comments, err := repo.Comments(t.Context(), wrong.Number)
	if err != nil || len(comments) != 1 || !strings.Contains(comments[0].Body, "Changes in the fleet") {
		t.Errorf("the comments of pull request %d are %+v, %v", wrong.Number, comments, err)
	}
	// Nothing moved.
	if diff := cmp.Diff(operator.PullRequests{Planned: 2}, tenant.mustPlan(t)); diff != "" {
		t.Errorf("the same pull requests (-want +got):\n%s", diff)
	}
	f.Push(fleettest.ControlPlane, "wrong", map[string]string{"cluster-types/wrong.yaml": ""})
	if did := tenant.mustPlan(t).Did; !slices.Equal(did, []string{"posted the plan of pull request 2"}) {
		t.Errorf("after a push: %q", did)
	}
	if s := status("wrong"); s.State != forge.Success {
		t.Errorf("after a push, the status is %+v", s)
	}
	closed := forge.Closed
	if err := repo.EditPullRequest(t.Context(), wrong.Number, forge.PullRequestEdit{State: &closed}); err != nil {
		t.Fatal(err)
	}
	if result := tenant.mustPlan(t); result.Planned != 1 || len(tenant.planned) != 1 {
		t.Errorf("after one was closed: %+v", result)
	}
	// A fork can name any repository, so it gets a status only.
	gitea.World.Repo(fleettest.ControlPlane).OpenFromFork("stranger", "stranger/control-plane", "main")
	want = operator.PullRequests{Planned: 1, NotPlanned: 1, Did: []string{"pull request 3 comes from a fork, and is not planned"}}
	if diff := cmp.Diff(want, tenant.mustPlan(t)); diff != "" {
		t.Errorf("with a fork (-want +got):\n%s", diff)
	}
}

// What has failed or taken long is not planned in each round, and does not keep others from their turn.
func TestPullRequestsTakeTurns(t *testing.T) {
	now := time.Now()
	tenant := &Tenant{planned: map[int]planned{1: {at: now}, 2: {at: now.Add(-time.Minute)}}}
	var order []int
	for _, p := range tenant.dueFirst([]forge.PullRequest{{Number: 1}, {Number: 2}, {Number: 3}, {Number: 4}}) {
		order = append(order, p.Number)
	}
	if diff := cmp.Diff([]int{3, 4, 2, 1}, order); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
}
