package wiring

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// TestServerPinsTargetsInTheNameOfTheUser rolls a target back, as the API asks for it.
func TestServerPinsTargetsInTheNameOfTheUser(t *testing.T) {
	t.Parallel()
	s, d := registeredShop(t)
	s.built("1.4.0")
	s.deliver(t, d)
	s.Push(shopConfigs, "dev", map[string]string{"functional-test/values.yaml": "replicas: 4\n"})
	s.deliver(t, d)
	v := newByHand(s.world)
	a := &query.Application{ControlPlane: s.URL + "/" + fleettest.ControlPlane, Subject: deliver.SubjectOf(s.URL+"/"+shopSource, "shop"), Name: "shop"}
	all := s.revisions("dev", "functional-test").Revisions
	if len(all) != 2 {
		t.Fatalf("got %d revisions, want 2", len(all))
	}
	request := func(like deliver.PinRequest, preview bool, names ...string) deliver.PinTargetsRequest {
		like.Environment = "dev"
		return deliver.PinTargetsRequest{Like: like, Targets: names, Preview: preview}
	}
	back := deliver.PinRequest{Revision: all[1].Commit[:8]}

	found, err := v.PinTargets(t.Context(), a, request(back, true, "shop-functional-test"), ada)
	if err != nil || len(found.Targets) != 1 || found.Targets[0].Result != deliver.PinProposed || found.Outcomes["dev"].PullRequest != nil {
		t.Fatalf("the preview is %+v, %v", found, err)
	}
	found, err = v.PinTargets(t.Context(), a, request(back, false, "functional-test"), ada)
	if err != nil || found.Targets[0].Result != deliver.PinProposed || found.Targets[0].Pin.Revision != all[1].Commit {
		t.Fatalf("got %+v, %v", found, err)
	}
	change := s.open("dev")
	repo, err := s.flows.Client.Open(t.Context(), s.URL+"/"+shopGitOps)
	if err != nil {
		t.Fatal(err)
	}
	head, err := repo.Resolve(t.Context(), change.Head.Branch, "")
	if err != nil || head.Author != "ada@example.com" || head.Email != "ada@example.com" {
		t.Errorf("the commit is by %s <%s>, %v", head.Author, head.Email, err)
	}

	// The same again finds the pull request, as does a round of the server, and none of them merges it.
	s.deliver(t, d)
	again, err := v.PinTargets(t.Context(), a, request(back, false, "functional-test"), ada)
	if err != nil || len(again.Outcomes["dev"].Did) > 0 || again.Outcomes["dev"].PullRequest.Number != change.Number {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	if now := s.open("dev"); now.Number != change.Number || now.Head.Commit != change.Head.Commit {
		t.Errorf("a round changed the pull request: %+v", now)
	}

	var refused *api.SettingError
	var unknown *query.UnknownError
	for name, check := range map[string]func() bool{
		"the current revision": func() bool {
			_, err := v.PinTargets(t.Context(), a, request(deliver.PinRequest{Revision: all[0].Commit}, false, "functional-test"), ada)
			return errors.As(err, &refused) && refused.Status == http.StatusUnprocessableEntity && strings.Contains(refused.Next, "another revision")
		},
		"an unknown target": func() bool {
			_, err := v.PinTargets(t.Context(), a, request(deliver.PinRequest{Uninstall: true}, false, "functional-tset"), ada)
			return errors.As(err, &unknown) && strings.Contains(unknown.Error(), "functional-test")
		},
		"too many": func() bool {
			r := request(deliver.PinRequest{Uninstall: true}, false, "a", "b", "c")
			r.Most = 2
			_, err := v.PinTargets(t.Context(), a, r, ada)
			return errors.As(err, &refused) && strings.Contains(refused.Error(), "3 targets are selected, and at most 2")
		},
	} {
		if !check() {
			t.Errorf("%s: got %v, %v", name, refused, unknown)
		}
	}

	// With several targets, each has a result.
	some, err := v.PinTargets(t.Context(), a, request(deliver.PinRequest{}, true, "functional-test", "other"), ada)
	if err != nil || len(some.Targets) != 2 || some.Targets[1].Result != deliver.PinRefused || some.Targets[0].Result != deliver.PinWithdrawn {
		t.Errorf("several: %+v, %v", some, err)
	}
}

// TestServerDoesNotMixTargetsWithOtherChanges: while another pull request of the environment is open, the answer is a conflict.
func TestServerDoesNotMixTargetsWithOtherChanges(t *testing.T) {
	t.Parallel()
	s, _ := registeredShop(t)
	s.built("1.4.0")
	s.quiet()
	s.mergeIn("stage")
	s.quiet()
	s.Push(shopConfigs, "stage", map[string]string{"uat-test/values.yaml": "replicas: 5\n"})
	s.quiet()
	v := newByHand(s.world)
	a := &query.Application{ControlPlane: s.URL + "/" + fleettest.ControlPlane, Subject: deliver.SubjectOf(s.URL+"/"+shopSource, "shop"), Name: "shop"}
	_, err := v.PinTargets(t.Context(), a, deliver.PinTargetsRequest{Like: deliver.PinRequest{Environment: "stage", Uninstall: true}, Targets: []string{"uat-test"}}, ada)
	var refused *api.SettingError
	if !errors.As(err, &refused) || refused.Status != http.StatusConflict || !strings.Contains(refused.Next, "merge it or close it first") {
		t.Errorf("got %v", err)
	}
}
