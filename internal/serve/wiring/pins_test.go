package wiring

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

// pin finds what a target should have, and proposes it.
func (s *shop) pin(r deliver.PinRequest) (*deliver.Outcome, error) {
	s.Helper()
	r.Request, r.Target = s.request(), "functional-test"
	to, err := s.past().Pin(s.Context(), r)
	if err != nil {
		return nil, err
	}
	s.chain.Deliverer.Loader = s.loader()
	return s.chain.Deliverer.Round(s.Context(), deliver.RoundRequest{Request: s.request(), Environment: to.Environment, Pins: map[string]tree.Pin{to.Target: to.Pin}})
}

// of returns the files of the target among those of a commit or branch.
func ofTarget(files map[string]string) map[string]string {
	own := map[string]string{}
	for path, content := range files {
		if strings.HasPrefix(path, "functional-test/") || strings.HasPrefix(path, ".kalypso/functional-test/") {
			own[path] = content
		}
	}
	return own
}

func TestRolledBackTargetKeepsItsRevision(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.built("1.4.0")
	s.quiet()
	s.Push(shopConfigs, "dev", map[string]string{"functional-test/values.yaml": "replicas: 4\n"})
	s.quiet()
	all := s.revisions("dev", "functional-test").Revisions
	first, current := all[1].Commit, all[0].Commit

	for revision, want := range map[string]string{current: "it is the current revision", "0000000": "is not one of its 2 revisions", first[:3]: "is not one of"} {
		if _, err := s.pin(deliver.PinRequest{Revision: revision}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", revision, err, want)
		}
	}

	// The pull request has exactly the files of the revision, and is not merged automatically, although dev is configured for it.
	o, err := s.pin(deliver.PinRequest{Revision: first[:8]})
	if err != nil {
		t.Fatal(err)
	}
	change := s.open("dev")
	if want := ofTarget(s.filesAt(shopGitOps, first)); o.PullRequest == nil || !cmp.Equal(want, ofTarget(s.filesAt(shopGitOps, change.Head.Commit))) {
		t.Errorf("the files differ: %s", cmp.Diff(want, ofTarget(s.filesAt(shopGitOps, change.Head.Commit))))
	}
	for _, want := range []string{"dev: roll back shop functional-test", first[:7], "#### Pinned"} {
		if !strings.Contains(change.Title+change.Body, want) {
			t.Errorf("the pull request does not say %q:\n%s\n%s", want, change.Title, change.Body)
		}
	}
	again, err := s.pin(deliver.PinRequest{Revision: first})
	if err != nil || len(again.Did) > 0 || again.PullRequest.Number != change.Number {
		t.Errorf("the same again did %v, %v", again.Did, err)
	}

	// Rounds keep it, and what else waits in the environment is not mixed into it.
	s.Push(shopConfigs, "dev", map[string]string{"functional-test/values.yaml": "replicas: 9\n"})
	s.Push(shopSource, "main", map[string]string{"main.go": "package wiring // better\n"})
	s.built("1.5.0")
	s.quiet()
	if got := s.open("dev"); got.Number != change.Number || got.Title != change.Title || !cmp.Equal(ofTarget(s.filesAt(shopGitOps, first)), ofTarget(s.filesAt(shopGitOps, got.Head.Commit))) {
		t.Errorf("a round changed the pull request to %q", got.Title)
	}
	s.mergeIn("dev")
	s.quiet()
	files := s.Files(shopGitOps, "dev")
	if !cmp.Equal(ofTarget(s.filesAt(shopGitOps, first)), ofTarget(files)) {
		t.Errorf("the target did not keep its files: %s", cmp.Diff(ofTarget(s.filesAt(shopGitOps, first)), ofTarget(files)))
	}
	if got := files[".github/tracking/Version"]; got != "1.5.0\n" {
		t.Errorf("the environment has %q, and should move on", got)
	}
	r := s.revisions("dev", "functional-test").Revisions[0]
	if r.Same != first || r.Build.Version != "1.4.0" {
		t.Errorf("the newest revision is %+v", r)
	}
	if o, err := s.pin(deliver.PinRequest{Revision: first}); err != nil || o.PullRequest != nil || len(o.Did) > 0 {
		t.Errorf("rolled back again: did %v, %v", o.Did, err)
	}

	// What is changed by hand in a pinned target is restored to its revision.
	s.Push(shopGitOps, "dev", map[string]string{"functional-test/manifests.yaml": "# by hand\n"})
	s.quiet()
	if got := s.Files(shopGitOps, "dev"); !cmp.Equal(ofTarget(s.filesAt(shopGitOps, first)), ofTarget(got)) {
		t.Errorf("not restored: %s", cmp.Diff(ofTarget(s.filesAt(shopGitOps, first)), ofTarget(got)))
	}

	// Deployed again, it has what the environment has.
	if _, err := s.pin(deliver.PinRequest{}); err != nil {
		t.Fatal(err)
	}
	s.mergeIn("dev")
	s.quiet()
	files = s.Files(shopGitOps, "dev")
	if got := files["functional-test/manifests.yaml"]; !strings.Contains(got, "shop:1.5.0") || !strings.Contains(got, "replicas: 9") {
		t.Errorf("it does not follow the environment:\n%s", got)
	}
	if inventory := files[".kalypso/deliveries/shop.json"]; strings.Contains(inventory, "pinned") || !strings.Contains(inventory, `"version": 1`) {
		t.Errorf("the inventory has pins:\n%s", inventory)
	}
	if _, err := s.pin(deliver.PinRequest{Version: "1.4.0"}); err != nil {
		t.Fatal(err)
	}
	if got := s.filesAt(shopGitOps, s.open("dev").Head.Commit)["functional-test/manifests.yaml"]; !strings.Contains(got, "shop:1.4.0") {
		t.Errorf("version 1.4.0 is\n%s", got)
	}
	if _, err := s.pin(deliver.PinRequest{Version: "9.9"}); err == nil || !strings.Contains(err.Error(), `the environment never had "9.9"`) {
		t.Errorf("an unknown version: %v", err)
	}
}

func TestUninstalledTargetHasNoObjects(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.built("1.4.0")
	s.quiet()
	o, err := s.pin(deliver.PinRequest{Uninstall: true})
	if err != nil {
		t.Fatal(err)
	}
	// It is the only target, so that nothing would be left: that needs approval like any other removal.
	if len(o.Draft.Plan.Refusals) == 0 {
		t.Error("the deletion budget does not apply")
	}
	if err := s.Repo(shopGitOps).AddLabels(t.Context(), o.PullRequest.Number, pullrequest.LabelAllowDeletions); err != nil {
		t.Fatal(err)
	}
	s.quiet()
	s.mergeIn("dev")
	s.quiet()
	want := map[string]string{
		"functional-test/manifests.yaml":     "",
		"functional-test/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
	}
	if diff := cmp.Diff(want, ofTarget(s.Files(shopGitOps, "dev"))); diff != "" {
		t.Error(diff)
	}
	if o, err := s.pin(deliver.PinRequest{Uninstall: true}); err != nil || len(o.Did) > 0 {
		t.Errorf("uninstalled again: did %v, %v", o.Did, err)
	}
	// It stays uninstalled with the next build, and comes back with the environment's.
	s.Push(shopSource, "main", map[string]string{"main.go": "package wiring // better\n"})
	s.built("1.5.0")
	last := s.quiet()
	if diff := cmp.Diff(want, ofTarget(s.Files(shopGitOps, "dev"))); diff != "" {
		t.Error(diff)
	}
	// What no target runs is not deployed, and goes nowhere.
	if story := s.story(last); !strings.Contains(story, "each target is pinned or uninstalled") || s.proposed("stage") && strings.Contains(s.open("stage").Title, "1.5.0") {
		t.Errorf("a build that no target runs goes on:\n%s", story)
	}
	if _, err := s.pin(deliver.PinRequest{}); err != nil {
		t.Fatal(err)
	}
	s.mergeIn("dev")
	s.quiet()
	if got := s.Files(shopGitOps, "dev")["functional-test/manifests.yaml"]; !strings.Contains(got, "shop:1.5.0") {
		t.Errorf("it was not installed again:\n%s", got)
	}
}

func TestPinIsRefusedWhileOtherChangesAreOpen(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.built("1.4.0")
	s.quiet()
	s.mergeIn("stage")
	s.quiet()
	s.Push(shopConfigs, "stage", map[string]string{"uat-test/values.yaml": "replicas: 5\n"})
	s.quiet()
	other := s.open("stage")
	s.chain.Deliverer.Loader = s.loader()
	uninstall := deliver.RoundRequest{Request: s.request(), Environment: "stage", Pins: map[string]tree.Pin{"uat-test": {Uninstalled: true}}}
	var refused *deliver.OtherChangesError
	if _, err := s.chain.Deliverer.Round(t.Context(), uninstall); !errors.As(err, &refused) || refused.PullRequest.Number != other.Number {
		t.Fatalf("got %v", err)
	}
}

func TestClosedPinIsOpenedAgainByARequest(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.built("1.4.0")
	s.quiet()
	if _, err := s.pin(deliver.PinRequest{Uninstall: true}); err != nil {
		t.Fatal(err)
	}
	closed := forge.Closed
	if err := s.Repo(shopGitOps).EditPullRequest(t.Context(), s.open("dev").Number, forge.PullRequestEdit{State: &closed}); err != nil {
		t.Fatal(err)
	}
	s.quiet()
	if found, err := s.Repo(shopGitOps).FindPullRequests(t.Context(), forge.PullRequestFilter{State: forge.Open, Base: "dev"}); err != nil || len(found) > 0 {
		t.Errorf("a round opened %v, %v", found, err)
	}
	if o, err := s.pin(deliver.PinRequest{Uninstall: true}); err != nil || o.PullRequest == nil || o.PullRequest.State != forge.Open {
		t.Errorf("got %+v, %v", o, err)
	}
}
