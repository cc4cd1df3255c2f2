package wiring

import (
	"context"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// withUninstalled are policies of a platform on which some targets of other applications are uninstalled.
type withUninstalled struct {
	plane.Policies
	away map[string]bool
}

func (p withUninstalled) Dependencies(ctx context.Context, environment string) (*deliver.Dependencies, error) {
	d, err := p.Policies.Dependencies(ctx, environment)
	if err == nil {
		d.Uninstalled = func(workload, target string) bool { return p.away[workload+"/"+target] }
	}
	return d, err
}

// newNeededShop is a shop whose target functional-test the bank needs in dev, where the shop needs the database.
func newNeededShop(t *testing.T) (*shop, map[string]bool) {
	t.Helper()
	s, _ := registeredShop(t)
	workload := func(name, needs string) map[string]string {
		return map[string]string{"workload.yaml": kalypsoAPI + "kind: Workload\nmetadata: {name: " + name + "}\nspec:\n  " + needs +
			"deploymentTargets:\n  - {name: test, environment: dev, manifests: {repo: ../" + name + "-gitops, branch: dev, path: ./test}}\n"}
	}
	main := map[string]string{}
	for name, needs := range map[string]string{"bank": "dependsOn: [{workload: shop, target: functional-test}]\n  ", "database": ""} {
		s.Create(name)
		s.Push("platform/"+name, "main", workload(name, needs))
		main[name+".yaml"] = strings.ReplaceAll(registrationFile, "NAME", name)
	}
	s.Push(shopSource, "main", map[string]string{"workload.yaml": strings.Replace(fleettest.Shop()["workload.yaml"], "spec:\n", "spec:\n  dependsOn: [{workload: database}]\n", 1)})
	s.Push(fleettest.ControlPlane, "main", main)
	s.Push(fleettest.ControlPlane, "dev", map[string]string{
		"base-repo.yaml": strings.ReplaceAll(baseRepoFile, "COMMIT", s.Head(fleettest.ControlPlane, "main")), "policy.yaml": ringsPolicy,
	})
	if _, err := s.flows.Round(t.Context(), s.URL+"/"+fleettest.ControlPlane, "dev"); err != nil {
		t.Fatal(err)
	}
	away := map[string]bool{}
	s.chain.Deliverer.Policies = withUninstalled{plane.Policies{Board: s.flows.board, ControlPlane: s.URL + "/" + fleettest.ControlPlane}, away}
	s.built("1.4.0")
	s.quiet()
	return s, away
}

func TestNeededTargetIsNotUninstalled(t *testing.T) {
	t.Parallel()
	s, away := newNeededShop(t)
	found := s.ask("ada", deliver.PinRequest{Uninstall: true}, true, "functional-test")
	if got := found.Targets[0]; got.Result != deliver.PinRefused || got.Reason != "it is not uninstalled: needed by bank/test on large" {
		t.Errorf("got %+v", got)
	}
	a := &query.Application{ControlPlane: s.URL + "/" + fleettest.ControlPlane, Subject: deliver.SubjectOf(s.URL+"/"+shopSource, "shop"), Name: "shop"}
	served, err := newByHand(s.world).PinTargets(t.Context(), a, deliver.PinTargetsRequest{Like: deliver.PinRequest{Environment: "dev", Uninstall: true}, Targets: []string{"functional-test"}}, ada)
	if err != nil || served.Targets[0].Result != deliver.PinRefused || served.Outcomes["dev"].PullRequest != nil {
		t.Errorf("the server: %+v, %v", served, err)
	}
	p := found.Outcomes["dev"].Draft.Plan
	if p.Counts.Held != 1 || len(p.Problems) == 0 || p.Problems[0].Hint != "uninstall what needs it first, or remove the dependency" {
		t.Errorf("the plan is %+v", p)
	}

	// It can be uninstalled when what needs it is, and is not deployed again before what it needs.
	away["bank/test"] = true
	if got := s.ask("ada", deliver.PinRequest{Uninstall: true}, false, "functional-test").Targets[0]; got.Result != deliver.PinProposed {
		t.Fatalf("after the bank: %+v", got)
	}
	s.approve("dev")
	s.mergeIn("dev")
	s.quiet()
	away["database/test"] = true
	if got := s.ask("ada", deliver.PinRequest{}, true, "functional-test").Targets[0]; got.Result != deliver.PinRefused || got.Reason != "it is not deployed: it needs database on large, which is uninstalled" {
		t.Errorf("without the database: %+v", got)
	}
	away["database/test"] = false
	if got := s.ask("ada", deliver.PinRequest{}, true, "functional-test").Targets[0]; got.Result != deliver.PinProposed {
		t.Errorf("with the database: %+v", got)
	}
}

// TestNeededTargetKeepsWhatItNeeds: what is asked for at once is refused for both.
func TestNeededTargetKeepsWhatItNeeds(t *testing.T) {
	t.Parallel()
	s, away := newNeededShop(t)
	const first = "    - name: functional-test\n"
	second := "    - name: second\n      environment: dev\n      manifests: {repo: ../shop-gitops, branch: dev, path: ./second}\n"
	workload := strings.Replace(s.Files(shopSource, "main")["workload.yaml"], first, second+first+"      dependsOn: [{workload: shop, target: second}]\n", 1)
	s.Push(shopSource, "main", map[string]string{"workload.yaml": workload})
	s.Push(shopConfigs, "dev", map[string]string{"second/values.yaml": "replicas: 2\n"})
	if _, err := s.flows.Round(t.Context(), s.URL+"/"+fleettest.ControlPlane, "dev"); err != nil {
		t.Fatal(err)
	}
	s.built("1.5.0")
	s.quiet()
	for _, uninstalled := range []bool{false, true} {
		away["bank/test"] = uninstalled
		for _, p := range s.ask("ada", deliver.PinRequest{Uninstall: true}, true, "functional-test", "second").Targets {
			by := map[string]string{"functional-test": "bank/test", "second": "shop/functional-test"}[p.Target]
			if want := "it is not uninstalled: needed by " + by + " on large"; !uninstalled && (p.Result != deliver.PinRefused || p.Reason != want) {
				t.Errorf("got %+v, want %s", p, want)
			}
			if uninstalled && p.Result != deliver.PinProposed {
				t.Errorf("without the bank: %+v", p)
			}
		}
	}
}

func TestNeededTargetIsNotRemoved(t *testing.T) {
	t.Parallel()
	s, away := newNeededShop(t)
	workload := s.Files(shopSource, "main")["workload.yaml"]
	at := strings.Index(workload, "    - name: functional-test")
	without := workload[:at] + strings.ReplaceAll(workload[at:], "functional-test", "other")
	s.Push(shopSource, "main", map[string]string{"workload.yaml": without})
	s.Push(shopConfigs, "dev", map[string]string{"other/values.yaml": "replicas: 2\n"})
	if _, err := s.flows.Round(t.Context(), s.URL+"/"+fleettest.ControlPlane, "dev"); err != nil {
		t.Fatal(err)
	}
	s.built("1.5.0")
	last := s.quiet()
	if story := s.story(last); !strings.Contains(story, "it is not removed: needed by bank/test on large") {
		t.Errorf("got\n%s", story)
	}
	if s.Files(shopGitOps, "dev")["functional-test/manifests.yaml"] == "" {
		t.Error("it was removed")
	}
	away["bank/test"] = true
	s.Push(shopConfigs, "dev", map[string]string{"other/values.yaml": "replicas: 3\n"})
	s.quiet()
	s.approve("dev")
	s.quiet()
	if s.Files(shopGitOps, "dev")["functional-test/manifests.yaml"] != "" {
		t.Error("it stays, although nothing needs it")
	}
}

// approve adds the label for removals to the open pull request of an environment, if there is one.
func (s *shop) approve(environment string) {
	s.Helper()
	open, err := s.Repo(shopGitOps).FindPullRequests(s.Context(), forge.PullRequestFilter{State: forge.Open, Base: environment})
	for _, pr := range open {
		if err == nil {
			err = s.Repo(shopGitOps).AddLabels(s.Context(), pr.Number, pullrequest.LabelAllowDeletions)
		}
	}
	if err != nil {
		s.Fatal(err)
	}
	s.quiet()
}
