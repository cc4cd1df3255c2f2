package wiring

import (
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// newShopOfTwo is a shop with the targets functional-test and smoke in dev, to which 1.4.0 is delivered.
func newShopOfTwo(t *testing.T) *shop {
	t.Helper()
	s := newShop(t)
	s.Push(shopSource, "main", map[string]string{"workload.yaml": strings.Replace(fleettest.Shop()["workload.yaml"], "    - name: uat-test", `    - name: smoke
      environment: dev
      manifests: {repo: ../shop-gitops, branch: dev, path: ./smoke}
    - name: uat-test`, 1)})
	s.Push(shopConfigs, "dev", map[string]string{"smoke/values.yaml": "replicas: 1\n"})
	s.built("1.4.0")
	s.quiet()
	return s
}

// ask proposes what targets of dev should have, or only finds out what that would do.
func (s *shop) ask(by string, like deliver.PinRequest, preview bool, targets ...string) *deliver.RequestedPins {
	s.Helper()
	like.Request, like.Environment = s.request(), "dev"
	s.chain.Deliverer.Loader = s.loader()
	found, err := s.chain.Deliverer.PinTargets(s.Context(), s.past(), deliver.PinTargetsRequest{
		Like: like, Targets: targets, Preview: preview, Asked: tree.Request{By: by, At: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)}, Again: s.loader,
	})
	if err != nil {
		s.Fatal(err)
	}
	return found
}

func TestDeployWithdrawsAnOpenRequest(t *testing.T) {
	t.Parallel()
	s := newShopOfTwo(t)
	s.ask("ada", deliver.PinRequest{Uninstall: true}, false, "smoke")
	number := s.open("dev").Number
	for _, preview := range []bool{true, true, false} {
		found := s.ask("bob", deliver.PinRequest{}, preview, "smoke")
		o := found.Outcomes["dev"]
		if got := found.Targets[0]; got.Result != deliver.PinWithdrawn || got.Replaces == nil || got.Replaces.What("dev") != "uninstalled, requested by ada" {
			t.Errorf("preview %v: got %+v", preview, got)
		}
		if o.Withdrawn == nil || o.Withdrawn.Number != number || preview && len(o.Did) > 0 {
			t.Errorf("preview %v: withdraws %+v, did %v", preview, o.Withdrawn, o.Did)
		}
	}
	open, err := s.Repo(shopGitOps).FindPullRequests(t.Context(), forge.PullRequestFilter{State: forge.Open, Base: "dev"})
	if err != nil || len(open) > 0 {
		t.Errorf("still open: %+v, %v", open, err)
	}
	if got := s.ask("bob", deliver.PinRequest{}, false, "smoke"); got.Targets[0].Result != deliver.PinUnchanged || len(got.Outcomes["dev"].Did) > 0 {
		t.Errorf("again: %+v", got)
	}
}

// What waits in the environment takes the place of a request that is withdrawn, with the rules of the environment.
func TestWithdrawnRequestMakesWay(t *testing.T) {
	t.Parallel()
	s := newShopOfTwo(t)
	s.ask("ada", deliver.PinRequest{Uninstall: true}, false, "smoke")
	s.Push(shopConfigs, "dev", map[string]string{"functional-test/values.yaml": "replicas: 9\n"})
	s.quiet()
	if got := s.ask("ada", deliver.PinRequest{}, true, "smoke"); got.Targets[0].Result != deliver.PinWithdrawn || got.Outcomes["dev"].Withdrawn != nil {
		t.Errorf("got %+v", got.Targets[0])
	}
	s.ask("ada", deliver.PinRequest{}, false, "smoke")
	s.quiet()
	if got := s.Files(shopGitOps, "dev")["functional-test/manifests.yaml"]; !strings.Contains(got, "replicas: 9") {
		t.Errorf("not merged automatically:\n%s", got)
	}
}

func TestPullRequestNamesWhoAsked(t *testing.T) {
	t.Parallel()
	s := newShopOfTwo(t)
	wants := func(texts ...string) {
		t.Helper()
		pr := s.open("dev")
		for _, text := range texts {
			if !strings.Contains(pr.Title+"\n"+pr.Body, text) {
				t.Errorf("the pull request does not say %q:\n%s\n%s", text, pr.Title, pr.Body)
			}
		}
	}
	s.ask("ada", deliver.PinRequest{Uninstall: true}, false, "smoke")
	again := s.ask("eve", deliver.PinRequest{Uninstall: true}, false, "smoke")
	if got := again.Targets[0]; got.Result != deliver.PinProposed || got.Replaces != nil || len(again.Outcomes["dev"].Did) > 0 {
		t.Errorf("the same again: %+v, did %v", got, again.Outcomes["dev"].Did)
	}
	wants("dev: uninstall shop smoke", "| `smoke` | uninstalled | ada, 2026-11-22 10:00 UTC |  |")

	// Another target joins, and the first keeps the name of who asked for it.
	s.ask("bob", deliver.PinRequest{Uninstall: true}, false, "functional-test")
	wants("dev: uninstall 2 targets of shop", "| `smoke` | uninstalled | ada, ", "| `functional-test` | uninstalled | bob, ")

	// One request replaces another, which the answer, the pull request and its commit say.
	got := s.ask("cyd <cyd@example.com>", deliver.PinRequest{}, false, "functional-test")
	if r := got.Targets[0].Replaces; r == nil || r.What("dev") != "uninstalled, requested by bob" {
		t.Errorf("it replaces %+v", r)
	}
	wants("dev: uninstall shop smoke", "| `functional-test` | follows `dev` | cyd ", "| uninstalled, requested by bob, 2026-11-22 10:00 UTC |")
	s.quiet()
	wants("| uninstalled, requested by bob, 2026-11-22 10:00 UTC |")
	messages, err := repository.NewDeliveryReader(s.flows.Client).Messages(t.Context(), schedule.Location{Repo: s.URL + "/" + shopGitOps, Branch: "kalypso/dev", Commit: s.open("dev").Head.Commit})
	if err != nil || len(messages) == 0 {
		t.Fatal(err)
	}
	message := messages[0]
	for _, line := range []string{"smoke: uninstalled, requested by ada\n", "functional-test: follows dev, requested by cyd <cyd@example.com>; instead of: uninstalled, requested by bob\n"} {
		if !strings.Contains(message, line) {
			t.Errorf("the commit does not say %q:\n%s", line, message)
		}
	}

	// Merged, who asked for a pin stays on record.
	s.mergeIn("dev")
	s.quiet()
	s.Push(shopSource, "main", map[string]string{"main.go": "package wiring // better\n"})
	s.built("1.5.0")
	s.quiet()
	inventory := s.Files(shopGitOps, "dev")[".kalypso/deliveries/shop.json"]
	targets, _, err := tree.ParseInventory([]byte(inventory), "shop")
	if err != nil || len(targets) != 2 || !targets[1].Pin.Uninstalled || targets[1].Request.By != "ada" {
		t.Errorf("got %v:\n%s", err, inventory)
	}
}

func TestPinIsKnownWithItsCommit(t *testing.T) {
	t.Parallel()
	s := newShopOfTwo(t)
	since := func() *deliver.PinnedSince {
		t.Helper()
		past, err := s.past().Revisions(t.Context(), deliver.PastRequest{Request: s.request(), Environment: "dev", Target: "smoke"})
		if err != nil {
			t.Fatal(err)
		}
		return past.Pinned
	}
	if got := since(); got != nil {
		t.Errorf("not pinned: got %+v", got)
	}
	s.ask("ada", deliver.PinRequest{Uninstall: true}, false, "smoke")
	s.mergeIn("dev")
	merged := s.revisions("dev", "smoke").Revisions[0].Commit
	for _, replicas := range []string{"7", "8"} { // the environment moves on, and the commit stays
		if got := since(); got == nil || !got.Uninstalled || got.By != "ada" || got.Since == nil || got.Since.Commit != merged {
			t.Fatalf("got %+v, want %s", got, merged)
		}
		s.quiet()
		s.Push(shopConfigs, "dev", map[string]string{"functional-test/values.yaml": "replicas: " + replicas + "\n"})
		s.quiet()
	}
	s.ask("bob", deliver.PinRequest{}, false, "smoke")
	s.mergeIn("dev")
	if got := since(); got != nil {
		t.Errorf("deployed again: got %+v", got)
	}
}

func TestTitleOfDifferentRequests(t *testing.T) {
	t.Parallel()
	s := newShopOfTwo(t)
	s.Push(shopConfigs, "dev", map[string]string{"functional-test/values.yaml": "replicas: 4\n"})
	s.quiet()
	first := s.revisions("dev", "functional-test").Revisions[1].Commit
	s.ask("ada", deliver.PinRequest{Uninstall: true}, false, "smoke")
	s.ask("bob", deliver.PinRequest{Revision: first}, false, "functional-test")
	if got, want := s.open("dev").Title, "dev: change 2 targets of shop (roll back 1, uninstall 1)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
