package fleet_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

// What a relative address resolves to depends on how the repository of the target was reached. A fleet in local
// folders can be used unchanged. Sources from elsewhere cannot refer to local folders.
func TestRelativeManifestsOfASource(t *testing.T) {
	for _, tt := range []struct{ source, gitOps, manifests, want string }{
		{"https://example.com/org/app", "https://example.com/org/gitops", "../app-gitops", "https://example.com/org/app-gitops"},
		{"http://127.0.0.1:3000/org/app", "../gitops", "../app-gitops", "http://127.0.0.1:3000/org/app-gitops"},
		{"ssh://git@example.com/org/app", "../gitops", "../app-gitops", "ssh://git@example.com/org/app-gitops"},
		{"git@example.com:org/app", "../gitops", "../app-gitops", "ssh://git@example.com/org/app-gitops"},
		{"https://example.com/app", "../gitops", "../../elsewhere", ""},
		{"/fleet/app", "../gitops", "../app-gitops", "../app-gitops"},
		{"/fleet/app", "/fleet/gitops", "/fleet/app-gitops", "/fleet/app-gitops"},
		{"/fleet/app", "https://example.com/org/gitops", "../app-gitops", ""},
		{"/fleet/app", "https://example.com/org/gitops", "https://example.com/org/app-gitops", "https://example.com/org/app-gitops"},
	} {
		in := fleettest.Inputs("dev", map[string]string{
			"env/gitops.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: \"" + tt.gitOps + "\", branch: dev}\n",
			"main/app.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: app}\n" +
				"spec: {workspace: team, workload: {repo: ../app, branch: main}}\n",
			"workloads/app/app.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: app}\n" +
				"spec: {deploymentTargets: [{name: test, environment: dev, manifests: {repo: \"" + tt.manifests + "\"}}]}\n",
		})
		in.Workloads["app"].Objects.Source.Repo = tt.source
		s := fleet.Assemble(in)
		got := ""
		if len(s.Targets) == 1 {
			got = s.Targets[0].Manifests["repo"]
		}
		if got != tt.want {
			t.Errorf("%s of %s, for %s: got %q, want %q (%v)", tt.manifests, tt.source, tt.gitOps, got, tt.want, s.Problems)
		}
		if held := len(s.Unreadable) == 1; held != (tt.want == "") {
			t.Errorf("%s of %s, for %s: held %v", tt.manifests, tt.source, tt.gitOps, s.Unreadable)
		}
	}
}
