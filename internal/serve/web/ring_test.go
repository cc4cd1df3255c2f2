package web_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// ringed is a fleet with an environment of three rings, the second of which has two batches.
func ringed(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	newest, older := strings.Repeat("a", 40), strings.Repeat("b", 40)
	ring := func(name, ring, commit string, reached int, reason string) promote.RingStanding {
		return promote.RingStanding{
			Name: name, Ring: ring, Branch: "prod-ring-" + name, Clusters: 5, Phase: decide.Good, Commit: commit, Reason: reason,
			Counts: comply.Counts{Expected: 5, Counted: 5, Required: 5, Reached: reached, Behind: 5 - reached},
		}
	}
	rings := []promote.RingStanding{
		ring("canary", "canary", newest, 5, "is deployed"), ring("early.0", "early", newest, 3, "2 of 5 clusters behind: <west-7>"),
		ring("early.1", "early", older, 5, "waits for early.0"), ring("others", "others", older, 5, "waits for early"),
	}
	rings[1].Phase = decide.Applying
	rings[3].Candidate, rings[3].Behind, rings[2].Behind = newest, 1, 1
	rings[3].Pause = &decide.Pause{By: "ann", Why: "a sale"}
	w.fleet = fleet{{URL: controlPlane, Promotion: &promote.Outcome{Subject: controlPlane, Environments: []promote.Standing{
		{Environment: "prod", Phase: decide.Applying, Commit: strings.Repeat("c", 40), Rings: rings},
	}}, Scheduling: map[string]*query.Scheduled{}}}
	return w
}

func TestRingsAreDrawnInOrder(t *testing.T) {
	for _, path := range []string{"/environments/prod", "/promotions", "/promotions?environment=prod"} {
		p := ringed(t).see(path)
		names := strings.Join(p.texts(".rings h3"), "; ")
		if names != "canary ✓ good; early ◐ applying; others ✓ good ▲ paused" {
			t.Errorf("%s: got %q", path, names)
		}
		p.wants(".rings li", "10 clusters, in 2 batches")
		p.wants(".rings li", "3 of 10 run it")
		p.wants(".rings li", "1 of 2 batches have it; early.0")
		p.wants(".rings li", "early.0: 2 of 5 clusters behind: <west-7>")
		p.wants(".rings li", "Paused by ann: a sale")
		p.wants(".rings li a[href=/history?environment=prod&ring=early]", "History of ring early")
		if n := len(p.all(".rings details li")); n != 2 {
			t.Errorf("%s: got %d batches", path, n)
		}
		if links := p.texts(".rings a[href=/environments/prod/pause]"); len(links) > 0 {
			t.Errorf("%s: a reader gets %q", path, links)
		}
	}
}

func TestRingsHaveActionsForOperators(t *testing.T) {
	w := ringed(t)
	w.pages.Guard.Others = []access.Authenticator{roleHeader{}}
	text := w.ask("/environments/prod", "Role", string(access.Operator)).Body.String()
	for _, action := range []string{"pause?controlPlane=", "resume?controlPlane=", "skip?controlPlane=", "promote?controlPlane=", "rollback?controlPlane="} {
		if !strings.Contains(text, "/environments/prod/"+action) {
			t.Errorf("an operator gets no %s", action)
		}
	}
	if strings.Count(text, "/environments/prod/resume?") != 1 {
		t.Error("only the paused ring can be resumed")
	}
}

// TestVerificationsOfRingsAreShown: operators approve, and only admins bypass, in the ring.
func TestVerificationsOfRingsAreShown(t *testing.T) {
	w := ringed(t)
	w.pages.Guard.Others = []access.Authenticator{roleHeader{}}
	w.fleet[0].Promotion.Environments[0].Rings[0].Checks = []decide.CheckProgress{
		{Name: "release", Kind: "approval", State: decide.CheckWaiting, Reason: "0 of 1 approvals"}, {Name: "smoke", Kind: "http", State: decide.CheckPassed},
	}
	for role, want := range map[access.Role][2]bool{access.Reader: {false, false}, access.Operator: {true, false}, access.Admin: {true, true}} {
		text := w.ask("/environments/prod", "Role", string(role)).Body.String()
		approve := strings.Contains(text, "/environments/prod/approve?controlPlane=") && strings.Contains(text, "ring=canary&amp;check=release")
		bypass := strings.Contains(text, "/environments/prod/bypass?controlPlane=")
		if !strings.Contains(text, "0 of 1 approvals") || [2]bool{approve, bypass} != want || strings.Contains(text, "check=smoke") {
			t.Errorf("%s: approves %v, bypasses %v, want %v", role, approve, bypass, want)
		}
	}
}
