package wiring

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// environmentsOf returns what the API says about the environments of an application.
func (s *shop) environmentsOf(d *deliver.Delivered) map[string]query.ApplicationEnvironment {
	environments := map[string]query.ApplicationEnvironment{}
	request := s.request()
	request.Workload = "shop"
	for _, e := range query.Delivered(query.Round{ControlPlane: s.URL, Request: request, Found: d, At: s.now}, nil).Environments {
		environments[e.Environment] = e
	}
	return environments
}

// CI builds a commit again after it was published. Every place names the build that was rendered, and the next environment gets that one.
func TestALaterBuildOfAPublishedCommitIsNotNamed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	commit := s.built("1.4.0")
	s.quiet()
	s.built("2.0.0")
	d := s.quiet()
	for name, e := range s.environmentsOf(d) {
		if e.Build.Version != "1.4.0" || e.Build.Image != "1.4.0" {
			t.Errorf("the API names %+v in %s", e.Build, name)
		}
	}
	change := s.open("stage")
	if text := change.Title + change.Body; !strings.Contains(text, "1.4.0") || strings.Contains(text, "2.0.0") {
		t.Errorf("the pull request says\n%s", text)
	}
	s.mergeIn("stage")
	d = s.quiet()
	for name, e := range s.environmentsOf(d) {
		if e.Build.Version != "1.4.0" {
			t.Errorf("the API names %+v in %s", e.Build, name)
		}
		if got, want := s.status(shopSource, commit, name), "success Deployed 1.4.0"; got != want {
			t.Errorf("%s shows %q, want %q", name, got, want)
		}
		if got := s.published(name, commit); got.Version != "1.4.0" || got.Image != "1.4.0" {
			t.Errorf("the ledger says that %+v was published in %s", got, name)
		}
	}
	// A new process remembers it, too.
	s.reboot()
	for name, e := range s.environmentsOf(s.quiet()) {
		if e.Build.Version != "1.4.0" {
			t.Errorf("after a restart, the API names %+v in %s", e.Build, name)
		}
	}
}

// A commit that was built again is promoted as the build that the environments before it run.
func TestTheBuildThatRanIsPromoted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.silent["dev-1"] = true // the gate of stage waits
	s.built("1.4.0")
	s.quiet()
	s.built("2.0.0")
	s.silent = map[string]bool{}
	d := s.quiet()
	if text := s.open("stage").Title; !strings.Contains(text, "1.4.0") {
		t.Errorf("the pull request of stage is %q\n%s", text, s.story(d))
	}
	if files := s.Files(shopGitOps, "kalypso/stage"); !strings.Contains(files["uat-test/manifests.yaml"], "registry.example/shop:1.4.0") {
		t.Errorf("stage gets\n%s", files["uat-test/manifests.yaml"])
	}
}

// Going back brings the build that ran there, not a later one of the same commit.
func TestRollbackBringsTheBuildThatRan(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first := s.built("1.4.0")
	s.quiet()
	s.Push(shopSource, "main", map[string]string{"main.go": "package wiring // newer\n"})
	s.built("1.5.0")
	s.quiet()
	subject := deliver.SubjectOf(s.URL+"/"+shopSource, "shop")
	if err := deliver.RecordBuild(t.Context(), s.ledger, subject, deliver.Build{Commit: first, Version: "9.0.0", Image: "9.0.0"}, "ci", s.now); err != nil {
		t.Fatal(err)
	}
	good, err := deliver.LastGood(t.Context(), s.ledger, subject, "dev", s.Head(shopSource, "main"))
	if err != nil || good != (deliver.Build{Commit: first, Version: "1.4.0", Image: "1.4.0"}) {
		t.Errorf("the last good build is %+v (%v)", good, err)
	}
	control := promote.Control{Ledger: s.ledger, Now: s.chain.Now}
	if err := control.Order(t.Context(), promote.Command{
		Subject: subject, Environment: "dev", Commit: first, By: "alice", Why: "1.5.0 loses orders",
	}); err != nil {
		t.Fatal(err)
	}
	d := s.quiet()
	if files := s.Files(shopGitOps, "dev"); !strings.Contains(files["functional-test/manifests.yaml"], "registry.example/shop:1.4.0") {
		t.Errorf("dev has\n%s\n%s", files["functional-test/manifests.yaml"], s.story(d))
	}
}

// published returns the build that the ledger names for the publication of a commit in an environment.
func (s *shop) published(environment, commit string) promote.Detail {
	s.Helper()
	steps, err := s.ledger.Steps(s.Context(), ledger.StepQuery{
		Subject: deliver.SubjectOf(s.URL+"/"+shopSource, "shop"), Commit: commit, Environment: environment, Kind: string(promote.Published), Limit: 1,
	})
	var detail promote.Detail
	if err == nil && len(steps) > 0 {
		err = json.Unmarshal(steps[0].Detail, &detail)
	}
	if err != nil || len(steps) == 0 {
		s.Fatalf("publications of %s in %s: %v (%v)", commit, environment, steps, err)
	}
	return detail
}
