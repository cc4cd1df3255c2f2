package web_test

import (
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	fleetpkg "github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// delivered adds the application hello, which runs in dev and waits for stage.
func (w *world) delivered() *world {
	gate := &query.Gate{Commit: app1, SourceCommit: older, Result: comply.Passed, Counts: comply.Counts{Counted: 3, Reached: 2, Failed: 1}}
	w.fleet[0].Applications = []*query.Application{{
		Name: "hello", Subject: "https://git.example.com/acme/hello#hello", ControlPlane: controlPlane, LastRound: noon,
		Source: query.Branch{Repository: "https://git.example.com/acme/hello", Branch: "main", Commit: promoted},
		Environments: []query.ApplicationEnvironment{
			{
				Environment: "dev", Build: &deliver.Build{Commit: older, Version: "1.4.2", Image: "shop:1.4.2"}, Phase: decide.Failed, Since: noon.Add(-time.Hour),
				Reason: "it waits (https://git.example.com/acme/hello-gitops/pulls/3)", Gate: gate, Drift: 2, Behind: 4, Detail: &query.ApplicationEnvironmentDetail{},
			},
			{
				Environment: "stage", Build: &deliver.Build{Commit: promoted}, Phase: decide.Proposed, Gate: gate,
				Change: &query.Change{Number: 5, Title: "a <b>change</b>", URL: "javascript:alert(1)"}, Held: 1,
				Detail: &query.ApplicationEnvironmentDetail{ProblemList: []fleetpkg.Problem{{Severity: fleetpkg.SeverityError, Message: "no <chart>"}}},
			},
		},
	}}
	return w
}

func TestWorkloadShowsItsDelivery(t *testing.T) {
	w := newWorld(t).fleetOfThree().delivered()
	p := w.see("/workloads/hello")
	for _, want := range []string{"1.4.2 2222222 image shop:1.4.2", "4 newer commits", "2 files changed by hand", "2 of 3 run it, 1", "it waits ( pull request )"} {
		p.wants("section[aria-labelledby=delivery-0] tr", want)
	}
	for _, want := range []string{"2 of 3 run 2222222 (published)", "#5 a <b>change</b>", "no <chart>", "held"} {
		p.wants("section[aria-labelledby=delivery-0] tr", want)
	}
	p.wants("section[aria-labelledby=delivery-0] code", "kalypso app status hello --server https://kalypso.example.com")
	if links := p.all("a[href=javascript:alert(1)]"); len(links) > 0 {
		t.Error("an address that is none is a link")
	}
	if n := len(newWorld(t).fleetOfThree().see("/workloads/hello").all("#delivery-0")); n != 0 {
		t.Error("a workload without a delivery shows one")
	}
}

func TestBoardHasApplications(t *testing.T) {
	p := newWorld(t).fleetOfThree().delivered().see("/")
	p.wants("tbody tr", "hello")
	p.wants("td[data-env=dev]", "1.4.2 2222222 ✕ failed 2 of 3 it waits")
	p.wants("td[data-env=stage]", "▲ held")
	p.wants("td[data-env=stage] .notes", "1 held")
}

// While a commit is only proposed, the gate counts clusters for the published one, and the page names it.
func TestGateOfThePublishedCommit(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	dev := &w.fleet[0].Promotion.Environments[0]
	dev.Phase, dev.Commit, dev.Reason = decide.Proposed, older, "2222222 waits for its pull request to be merged (https://git.example.com/acme/gitops/pulls/4)"
	dev.Verdict = comply.Verdict{} // the promoted commit gets a verdict when it is published
	w.see("/").wants("td[data-env=dev]", "◐ proposed 1111111: 2 of 3 waits for its pull request to be merged")
	p := w.see("/environments/dev")
	p.wants("main", "2 of 3 run 1111111 (published)")
	p.wants("p.clamp", "2222222 waits for its pull request to be merged ( pull request )")
	if len(p.all("p.clamp a[href=https://git.example.com/acme/gitops/pulls/4]")) != 1 {
		t.Error("the reason does not lead to the pull request")
	}
}
