package wiring

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// TestJourneyOfAPlatformTeam performs the daily work of a platform team with the example fleet.
// Everything before the first merge is in one pull request, updated in place.
func TestJourneyOfAPlatformTeam(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	functional := w.Files(fleettest.ControlPlane, "dev")["scheduling/kaizen/functional-test-policy.yaml"]
	small := w.Files(fleettest.ControlPlane, "dev")["cluster-types/west-us/small/small-cluster-type.yaml"]
	registration := w.Files(fleettest.ControlPlane, "main")["workloads/hello-world-app.yaml"]
	w.Push(fleettest.ControlPlane, "main", map[string]string{"workloads/hello-world-app.yaml": ""})
	w.Push(fleettest.ControlPlane, "dev", map[string]string{
		"scheduling/kaizen/functional-test-policy.yaml":       "",
		"cluster-types/west-us/small/small-cluster-type.yaml": "",
		"cluster-types/west-us/small/small-config.yaml":       "",
		"scheduling/kaizen/performance-test-policy.yaml":      "",
	})
	steps := []struct {
		what  string
		do    func()
		title string
		file  string // content of the file on the branch
		text  string
	}{
		{
			"a fleet with platform services", func() {},
			"dev: 6 added", "drone/nginx-dev/namespace.yaml", "dev-drone-nginx-dev",
		},
		{
			"onboard a workload", func() {
				w.Push(fleettest.ControlPlane, "main", map[string]string{"workloads/hello-world-app.yaml": registration})
			},
			"dev: 6 added", "drone/README.md", "drone",
		},
		{
			"add a policy", func() {
				w.Push(fleettest.ControlPlane, "dev", map[string]string{"scheduling/kaizen/functional-test-policy.yaml": functional})
			},
			"dev: 7 added", "drone/hello-world-app-functional-test/reconciler.yaml", "hello-world-app-gitops",
		},
		{
			"change a config map", func() { w.Edit("dev", westConfig, "REGION: West US", "REGION: Far West") },
			"dev: 7 added", "large/nginx-dev/platform-config.yaml", "Far West",
		},
		{
			"add a cluster type", func() {
				w.Push(fleettest.ControlPlane, "dev", map[string]string{"cluster-types/west-us/small/small-cluster-type.yaml": small})
			},
			"dev: 9 added", "small/prometheus-dev/namespace.yaml", "dev-small-prometheus-dev",
		},
	}
	number := 0
	for _, step := range steps {
		step.do()
		w.round("dev")
		c := w.OpenPullRequest()
		if number == 0 {
			number = c.Number
		}
		if c.Number != number || c.Title != step.title {
			t.Errorf("%s: change %d %q, want %d %q", step.what, c.Number, c.Title, number, step.title)
		}
		if got := w.Files(fleettest.GitOps, "kalypso/dev")[step.file]; !strings.Contains(got, step.text) {
			t.Errorf("%s: %s is\n%s", step.what, step.file, got)
		}
	}
	w.Merge()

	// Without the policy, all platform services are removed: more than the budget, so a user has to approve.
	w.Push(fleettest.ControlPlane, "dev", map[string]string{"scheduling/platform/platform-services-policy.yaml": ""})
	w.round("dev")
	c := w.OpenPullRequest()
	if c.Number == number || c.Title != "dev: 8 removed" || w.Status(c.Head.Commit, pullrequest.StatusDeletions) != forge.Failure {
		t.Errorf("remove a policy: %+v, status %s", c, w.Status(c.Head.Commit, pullrequest.StatusDeletions))
	}
}
