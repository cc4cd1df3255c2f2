package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
	fleetpkg "github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
)

// planning returns a world in which try makes the plans, and the requests that try received.
func planning(t *testing.T, try func(schedule.PlanRequest) (*schedule.Preview, error)) (*world, *[]schedule.PlanRequest) {
	t.Helper()
	w := newWorld(t).fleetOfThree()
	var requests []schedule.PlanRequest
	w.pages.Trials = &trial.Planner{Plan: func(_ context.Context, q schedule.PlanRequest) (*schedule.Preview, error) {
		requests = append(requests, q)
		return try(q)
	}}
	return w, &requests
}

// aPreview returns a preview of an environment with additions and removals.
func aPreview(schedule.PlanRequest) (*schedule.Preview, error) {
	value := "<b>blue</b>\u202e"
	return &schedule.Preview{
		Change: &forge.PullRequest{Number: 7, Title: "a <i>region</i>", URL: "javascript:alert(1)", Author: "ann", Head: forge.Ref{Branch: "topic"}, Base: forge.Ref{Branch: "main"}, State: forge.Open},
		Drafts: []*schedule.Draft{{Plan: &plan.Plan{
			Environment: "dev", Before: "was", After: "is", Counts: plan.Counts{Changed: 1, Removed: 1, Unchanged: 4},
			Assignments: []plan.Change{
				{Op: plan.Changed, ClusterType: "large", Target: "hello-test", Title: "hello/test", Config: []plan.ConfigChange{{Key: "colour", New: &value, From: fleetpkg.Position{File: "config.yaml", Line: 3}}}},
				{
					Op: plan.Changed, ClusterType: "drone", Target: "hello-test", Title: "hello/test", Granted: []plan.Role{{ClusterRole: "edit", Namespace: "queues"}},
					GrantedSecrets: []plan.Secret{{Name: "git", Namespace: "flux-system", URL: "https://git.example/<b>"}},
					HandedOver:     []plan.Object{{Kind: "Kustomization", Namespace: "flux-system", Name: "hello"}},
				},
				{
					Op: plan.Changed, ClusterType: "edge", Target: "hello-test", Title: "hello/test", Withdrawn: []plan.Role{{ClusterRole: "view"}},
					Retired: []plan.Object{{Kind: "Kustomization", Namespace: "flux-system", Name: "old"}},
				},
				{Op: plan.Removed, ClusterType: "small", Target: "hello-test", Title: "hello/test", MayStay: []plan.Role{{ClusterRole: "edit", Namespace: "queues"}}},
			},
			Refusals: []plan.Refusal{{Message: "more than the budget"}},
		}, NewProblems: []fleetpkg.Problem{{Severity: fleetpkg.SeverityError, Message: "a <tab>"}}, Findings: []check.Finding{
			{Rule: "latest-tag", Level: check.Refuse, File: "large/web.yaml", Line: 3, Object: "Pod web", Message: "a <tag> that moves"},
			{Rule: "unknown-kind", Level: check.Inform, Message: "an unknown kind"},
		}}},
	}, nil
}

func TestPlanOfAPullRequest(t *testing.T) {
	w, requests := planning(t, aPreview)
	p := w.see("/plan?change=7")
	p.wants("h1", "Pull request #7")
	p.wants("table.plan tr", "<b>blue</b>⟨U+202E⟩")
	p.wants("table.plan tr", "− removed")
	p.wants("table.plan .note", "grants edit in namespace queues, Secret flux-system/git to https://git.example/<b>")
	p.wants("table.plan .note", "what it applied in namespace queues may stay, because its rights there go with its namespace")
	p.wants("table.plan .note", "withdraws view in the whole cluster")
	p.wants("table.plan td", "Kustomization flux-system/hello is handed over: it stays beside the new ones, and deletes nothing any more.")
	p.wants("table.plan td", "Kustomization flux-system/old was handed over: clusters delete it, and nothing with it.")
	p.wants(".note", "more than the budget")
	p.wants(".problems li", "a <tab>")
	p.wants(".problems li", "✕ refuse Pod web: a <tag> that moves (latest-tag)")
	p.wants(".command code", "kalypso plan -e dev --control-plane "+controlPlane+" --branch topic")
	if links := p.all("main a[href=javascript:alert(1)]"); len(links) > 0 {
		t.Error("an address that is none is a link")
	}
	if want := (schedule.PlanRequest{ControlPlane: controlPlane, Change: 7}); len(*requests) != 1 || (*requests)[0] != want {
		t.Errorf("requests %+v, want %+v", *requests, want)
	}
	var value struct {
		Plans    []plan.Plan
		Problems map[string][]fleetpkg.Problem
	}
	a := w.ask("/plan?change=7", "Accept", "application/json")
	if err := json.Unmarshal(a.Body.Bytes(), &value); err != nil || len(value.Plans) != 1 || value.Plans[0].Counts.Removed != 1 || len(value.Problems["dev"]) != 1 {
		t.Errorf("as JSON: %+v, %v", value, err)
	}
}

func TestPlanAddressDeterminesRequest(t *testing.T) {
	for address, want := range map[string]schedule.PlanRequest{
		"/plan?branch=topic":                       {Branch: "topic"},
		"/plan?branch=topic&into=main":             {Branch: "topic"},
		"/plan?branch=topic&into=dev&environment=": {Branch: "topic", Into: "dev"},
		"/plan?environment=dev&into=main":          {Environment: "dev"},
		"/plan?environment=dev&commit=0123abc":     {Environment: "dev", Commit: "0123abc"},
		"/plan?change=%2312&environment=stage":     {Change: 12, Environment: "stage"},
		"/plan?environment=dev&whatIf=policy:a%3Dabsent++taint:b/c%3DNoExecute": {
			Environment: "dev", WhatIf: "policy:a=absent taint:b/c=NoExecute",
		},
		"/plan?environment=dev&branch=&commit=&a=b": {Environment: "dev"},
	} {
		w, requests := planning(t, aPreview)
		w.see(address)
		want.ControlPlane = controlPlane
		if len(*requests) != 1 || (*requests)[0] != want {
			t.Errorf("%s asks %+v, want %+v", address, *requests, want)
		}
	}
}

// An imagined value is shown with its spaces, which are escaped in addresses.
func TestPlanShowsAnImaginedValue(t *testing.T) {
	w, _ := planning(t, func(schedule.PlanRequest) (*schedule.Preview, error) {
		return &schedule.Preview{Drafts: []*schedule.Draft{{Plan: &plan.Plan{Environment: "dev", WhatIf: []string{"value:west/SUPPORT=call%204713"}}}}}, nil
	})
	p := w.see("/plan?environment=dev&whatIf=value:west/SUPPORT%3Dcall%25204713")
	p.wants(".note", "What if value:west/SUPPORT=call 4713")
}

// Invalid requests, and requests for other control planes, read nothing.
func TestPlanRefuses(t *testing.T) {
	w, requests := planning(t, aPreview)
	for _, question := range []string{
		"change=0", "change=-1", "change=seven", "change=7&branch=topic", "commit=HEAD~3&environment=dev", "change=7&whatIf=policy:a%3Dabsent", "commit=--output&environment=dev",
		"branch=a..b", "branch=-x", "branch=a%00b", "branch=a:b", "branch=topic&into=x@%7B1%7D",
		"environment=dev&controlPlane=" + url.QueryEscape("https://internal.example.com/secrets"), "environment=dev&controlPlane=/etc",
	} {
		if a := w.ask("/plan?" + question); a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), `role="alert"`) {
			t.Errorf("%s: got %d", question, a.Code)
		}
	}
	if len(*requests) != 0 {
		t.Errorf("requests %+v", *requests)
	}
}

// An error about an unknown name lists the known ones.
func TestPlanErrorsListAllowedValues(t *testing.T) {
	w, requests := planning(t, aPreview)
	for question, want := range map[string]string{
		"environment=nope":                       `There is no environment "nope". Choose one of dev, stage.`,
		"branch=topic&environment=nope":          `There is no environment "nope". Choose one of dev, stage.`,
		"environment=dev&controlPlane=elsewhere": `This server has no control plane "elsewhere". Choose one of ` + controlPlane + ".",
		"branch=a..b":                            `"a..b" is not a valid branch name. Use the name that Git shows.`,
		"change=seven":                           `"seven" is not a pull request number. Use a number such as 12 or #12.`,
	} {
		a := w.ask("/plan?" + question)
		p := parse(t, a.Body)
		p.wants("main [role=alert]", want)
		p.wants("main details[open] option", "dev")
		if a.Code != http.StatusBadRequest {
			t.Errorf("%s: got %d", question, a.Code)
		}
	}
	if len(*requests) != 0 {
		t.Errorf("requests %+v", *requests)
	}
}

func TestPlanErrors(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want int
		says string
	}{
		"no sense":     {schedule.ErrInvalidPlan, http.StatusBadRequest, "Correct the input"},
		"fork":         {schedule.ErrFork, http.StatusForbidden, "Push the branch"},
		"no branch":    {fmt.Errorf("/srv/kalypso/control-plane.git: %w", schedule.ErrNoBranch), http.StatusNotFound, "no such branch"},
		"no change":    {&forge.Error{Kind: forge.ErrNotFound, Op: "read change"}, http.StatusNotFound, "no such pull request"},
		"forge away":   {&forge.Error{Kind: forge.ErrUnavailable, Op: "read change"}, http.StatusServiceUnavailable, "Try again"},
		"cannot read":  {errors.New(`read "https://ann:secret@git.example.com/x": no`), http.StatusUnprocessableEntity, "Fix the problem and try again"},
		"too many ask": {trial.ErrBusy, http.StatusServiceUnavailable, "Try again"},
	} {
		w, _ := planning(t, func(schedule.PlanRequest) (*schedule.Preview, error) { return nil, test.err })
		a := w.ask("/plan?branch=topic")
		text := a.Body.String()
		if a.Code != test.want || !strings.Contains(text, test.says) || strings.Contains(text, "secret@") || strings.Contains(text, "/srv") {
			t.Errorf("%s: got %d, want %d and %q:\n%s", name, a.Code, test.want, test.says, text)
		}
		parse(t, a.Body).wants("main details[open] form h2", "Branch")
		if a := w.ask("/plan?branch=topic", "Accept", "application/json"); a.Code != test.want || !strings.Contains(a.Header().Get("Content-Type"), "problem") {
			t.Errorf("%s as JSON: got %d %s", name, a.Code, a.Header())
		}
		if errors.Is(test.err, trial.ErrBusy) && strings.Contains(w.log.String(), "ERROR") {
			t.Errorf("%s: anybody can fill the log with %s", name, w.log.String())
		}
	}
}

// A page does not wait for a slow plan: it reloads itself.
func TestPlanInProgress(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	w, _ := planning(t, func(q schedule.PlanRequest) (*schedule.Preview, error) {
		close(begun)
		<-goOn
		return aPreview(q)
	})
	w.pages.Trials.Wait = 10 * time.Millisecond
	w.ask("/plan?environment=dev")
	<-begun
	a := w.ask("/plan?environment=dev")
	if a.Code != http.StatusAccepted || a.Header().Get("Refresh") == "" || a.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %v", a.Code, a.Header())
	}
	parse(t, a.Body).wants("main [role=status]", "Planning: reading the repositories")
	close(goOn)
}

func TestPlanOfAnEmptyFleet(t *testing.T) {
	w := newWorld(t)
	w.see("/plan").wants(".empty", "nothing to plan")
	if a := w.ask("/plan", "Accept", "application/json"); a.Code != http.StatusOK || !strings.Contains(a.Body.String(), `"environments":[]`) {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
}
