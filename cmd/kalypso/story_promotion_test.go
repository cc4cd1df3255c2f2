package main

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// TestStoryOfACommit: it goes dev, stage, prod because the clusters run it; a cluster that fails stops the next one,
// and lets it go on when it is mended. Whoever asks afterwards is told that.
func TestStoryOfACommit(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	first := s.Head(fleettest.ControlPlane, "main")
	s.serve()
	s.join(nil)
	s.arrives(first, storyEnvironments...)

	one := s.commit("one")
	s.arrives(one, storyEnvironments...)
	s.leadsToPages(one)
	s.tells("wait -e prod --commit "+one, "prod  "+one[:7]+"  passed  2/2")

	s.set("stage-large", simulate.Behaviour{Mode: simulate.Failing})
	two := s.commit("two")
	s.arrives(two, "dev")
	s.shows(two, "stage", "failure ", "stage-large")
	if got := s.shown(two, "prod"); strings.HasPrefix(got, "success") {
		t.Errorf("prod shows %q", got)
	}
	if code, text := s.say("wait", "-e", "stage", "--commit", two); code != 3 || !strings.Contains(text, "stage-large") {
		t.Errorf("wait: exit code %d, %s", code, text)
	}
	s.tells("status", "dev ", two[:7], "deployed", "stage ", two[:7], "failed", "stage-large", "prod ", one[:7], "deployed")
	s.tells("compare stage prod", "stage", "prod", "commit", two[:7], one[:7])

	s.set("stage-large", simulate.Behaviour{Mode: simulate.Healthy})
	s.arrives(two, storyEnvironments...)
	s.tells("compare stage prod", "commit  "+two[:7], two[:7], "ONLY IN", "prod", "live", "stage", "uat-test")
	s.tells("compare dev prod", "ONLY IN", "dev", "command-center")
	s.tells("history environment stage", // the newest first
		two[:7], "Deployed", two[:7], "failed", "stage-large", one[:7])
	s.tells("history cluster stage-large", "ready", "failed", "ready")
	s.tells("history environment prod", two[:7], one[:7], first[:7])
}
