package deliver_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Two applications with repositories of their own share a GitOps branch, which the pipelines of the original scheduler wrote.
// Each takes over its own folder, and neither removes or renames anything of the other.
func TestApplicationsShareABranchOfTheOriginal(t *testing.T) {
	const gitops = "https://git.example/manifests dev"
	repositories := repos{gitops: {
		"README.md": "manifests\n", "cart/gen_manifests.yaml": "kind: Old\n", "cart/kustomization.yaml": "resources: [gen_manifests.yaml]\n",
		"shop/gen_manifests.yaml": "kind: Old\n", "shop/kustomization.yaml": "resources: [gen_manifests.yaml]\n",
		".github/tracking/Promoted_Commit_Id": strings.Repeat("f", 40) + "\n", // of another repository: see repos.Contains
	}}
	for _, name := range []string{"shop", "cart"} {
		repositories["https://git.example/"+name+" main"] = map[string]string{
			"workload.yaml": strings.NewReplacer("name: shop", "name: "+name, "name: t,", "name: "+name+",").Replace(shopWorkload),
			"delivery.yaml": strings.ReplaceAll(shopDelivery, "name: shop", "name: "+name) + "manifests: deploy, gitops: {repo: 'https://git.example/manifests'}}\n",
			"deploy/x.yaml": shopDeployment + "git.example/" + name + ":3\n",
		}
	}
	draft := func(name string) *deliver.Draft {
		t.Helper()
		d := &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: repositories, Charts: localCharts{}}}
		draft, err := d.Draft(t.Context(), deliver.DraftRequest{
			Request: deliver.Request{Source: "https://git.example/" + name}, Environment: "dev", Build: deliver.Build{Version: "v-" + name},
		})
		if err != nil {
			t.Fatal(err)
		}
		return draft
	}
	others := func(name string) map[string]string {
		files := maps.Clone(repositories[gitops])
		maps.DeleteFunc(files, func(at, _ string) bool { return strings.Contains(at, name) })
		return files
	}
	for _, name := range []string{"shop", "cart"} {
		before := others(name)
		d := draft(name)
		if d.Plan.Counts.Removed != 0 || d.GitOps.Build.Commit != "" {
			t.Errorf("%s: %d targets are removed, and the branch has build %+v", name, d.Plan.Counts.Removed, d.GitOps.Build)
		}
		reported := slices.ContainsFunc(d.Plan.Problems, func(p fleet.Problem) bool { return strings.Contains(p.Message, "left alone") })
		if reported != (name == "shop") {
			t.Errorf("%s: got %v", name, d.Plan.Problems)
		}
		repositories.publish(d)
		if !maps.Equal(before, others(name)) {
			t.Errorf("%s changed files of others: %v", name, d.Changes())
		}
		if files := repositories[gitops]; files[name+"/gen_manifests.yaml"] != "" || files[name+"/manifests.yaml"] == "" {
			t.Errorf("%s was not taken over", name)
		}
	}
	for _, name := range []string{"shop", "cart"} {
		d := draft(name)
		if len(d.Changes()) > 0 || d.GitOps.Build.Version != "v-"+name || d.GitOps.Build.Commit == "" {
			t.Errorf("%s is published as %+v, and a second round changes %v", name, d.GitOps.Build, d.Changes())
		}
	}
}
