package wiring

import (
	"strings"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// wantStatus wants the status of a commit of the source in an environment to contain texts.
func (s *shop) wantStatus(commit, environment string, wants ...string) {
	s.Helper()
	got := s.status(shopSource, commit, environment)
	for _, want := range wants {
		if !strings.Contains(got, want) {
			s.Errorf("%s of %s: got %q, want %q", environment, commit[:7], got, want)
		}
	}
}

// proposed reports whether a pull request of an environment is open.
func (s *shop) proposed(environment string) bool {
	s.Helper()
	changes, err := s.Repo(shopGitOps).FindPullRequests(s.Context(), forge.PullRequestFilter{State: forge.Open, Base: environment})
	if err != nil {
		s.Fatal(err)
	}
	return len(changes) > 0
}

// minutes lets time pass.
func (s *shop) minutes(n int) (last *deliver.Delivered) {
	s.Helper()
	for range n {
		var err error
		if last, err = s.minute(); err != nil {
			s.Fatal(err)
		}
	}
	return last
}

// TestWhatCrashesIsNotPromoted checks that a version stays in dev while its pods do not run, although its manifests are applied,
// and goes on when it becomes healthy late.
func TestWhatCrashesIsNotPromoted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.health["dev-1"] = hub.HealthProgressing
	commit := s.built("1.4.0")
	d := s.minutes(20)
	s.wantStatus(commit, "dev", "pending Applying 0/1")
	if story := s.story(d); !strings.Contains(story, "is not healthy yet") || !strings.Contains(story, "Deployment shop/web is progressing: container web: CrashLoopBackOff") {
		t.Errorf("dev does not say what is not healthy:\n%s", story)
	}
	s.health["dev-1"] = hub.HealthDegraded
	s.minutes(3)
	s.wantStatus(commit, "dev", "failure", "degraded", "CrashLoopBackOff")
	if s.proposed("stage") {
		t.Error("stage was proposed a version that crashes in dev")
	}
	delete(s.health, "dev-1")
	s.quiet()
	s.wantStatus(commit, "dev", "success Deployed 1.4.0")
	s.mergeIn("stage")
}

// TestWhatDegradesDuringSoakIsNotPromoted checks that a version that was healthy and degrades stays in dev, and that the soak time starts
// again when it recovers.
func TestWhatDegradesDuringSoakIsNotPromoted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Push(shopSource, "main", map[string]string{"delivery.yaml": `apiVersion: app.kalypso.io/v1alpha1
kind: Delivery
metadata: {name: shop}
spec:
  environments:
    - {name: dev, autoMerge: true}
    - {name: stage, promotion: {after: [dev], soak: 30m}}
`})
	commit := s.built("1.4.0")
	s.minutes(15)
	s.wantStatus(commit, "dev", "success Deployed 1.4.0")
	s.health["dev-1"] = hub.HealthDegraded
	s.minutes(40)
	if s.proposed("stage") {
		t.Error("stage was proposed a version that degraded in dev")
	}
	delete(s.health, "dev-1")
	recovered := s.now
	for !s.proposed("stage") {
		s.minutes(1)
		if s.now.Sub(recovered) > time.Hour {
			t.Fatal("stage is not proposed a version that recovered")
		}
	}
	if soaked := s.now.Sub(recovered); soaked < 30*time.Minute {
		t.Errorf("stage was proposed the version %s after it recovered, want 30m", soaked)
	}
}
