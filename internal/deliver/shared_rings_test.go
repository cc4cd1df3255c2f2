package deliver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/deliver"
)

// TestApplicationsDoNotShareRings checks that only one of the applications that share a GitOps branch has rings there, and that
// the registration of the other one has the problem.
func TestApplicationsDoNotShareRings(t *testing.T) {
	const controlPlane = "https://git.example/control-plane"
	register := func(names ...string) string {
		var all []string
		for _, name := range names {
			all = append(all, fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: %s}\nspec: {workload: {repo: 'https://git.example/%s', branch: main}, workspace: w}\n", name, name))
		}
		return strings.Join(all, "---\n")
	}
	repositories := repos{controlPlane + " main": {"workloads.yaml": register("cart", "shop", "till")}}
	rings := "environments:\n  - name: dev\n    promotion: {rings: [{name: canary}, {name: others}]}\n"
	for name, gitops := range map[string]string{"cart": "manifests", "shop": "manifests.git", "till": "till-manifests"} {
		repositories["https://git.example/"+name+" main"] = map[string]string{
			"workload.yaml": strings.NewReplacer("name: shop", "name: "+name, "name: t,", "name: "+name+",").Replace(shopWorkload),
			"delivery.yaml": "apiVersion: app.kalypso.io/v1alpha1\nkind: Delivery\nmetadata: {name: " + name + "}\nspec:\n  manifests: deploy\n  gitops: {repo: 'https://git.example/" + gitops + "'}\n  " + rings,
		}
	}
	requests, problems, err := (&deliver.Loader{Repositories: repositories}).Registered(t.Context(), controlPlane)
	if err != nil || len(requests) != 3 {
		t.Fatalf("%d requests, %v, %v", len(requests), problems, err)
	}
	for _, r := range requests {
		if why := r.NoRings["dev"]; (why != "") != (r.Workload == "shop") || why != "" && !strings.Contains(why, `workload "cart"`) {
			t.Errorf("%s: %q", r.Workload, why)
		}
	}
	if len(problems) != 1 || problems[0].Position.File != "workloads.yaml" || problems[0].Position.Line != 6 || problems[0].Hint == "" ||
		!strings.Contains(problems[0].Message, `environment "dev" of workload "shop" is not rolled out`) {
		t.Errorf("got %+v", problems)
	}
}
