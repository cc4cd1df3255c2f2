package plan_test

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// A region in the platform configuration changes. The plan shows the old
// and new value and where the new one is written.
func ExampleCompare() {
	files := map[string]string{
		"env/drone.yaml": `{apiVersion: scheduler.kalypso.io/v1alpha1, kind: ClusterType, metadata: {name: drone},
			spec: {reconciler: flux, namespaceService: default}}`,
		"env/everywhere.yaml": `{apiVersion: scheduler.kalypso.io/v1alpha1, kind: SchedulingPolicy, metadata: {name: everywhere}, spec: {deploymentTargetSelector: {}, clusterTypeSelector: {}}}`,
		"env/config.yaml":     `{apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: {platform-config: "true"}}, data: {REGION: west}}`,
		"env/shop.yaml": `{apiVersion: scheduler.kalypso.io/v1alpha1, kind: DeploymentTarget, metadata: {name: shop-test, labels: {workload: shop}},
			spec: {environment: dev, manifests: {repo: "https://example.com/shop-gitops", branch: dev, path: ./test}}}`,
	}
	was := bundle.Build(snapshot(files), nil, nil)
	files["env/config.yaml"] = strings.Replace(files["env/config.yaml"], "west", "east", 1)
	now := bundle.Build(snapshot(files), nil, was)

	p, err := plan.Compare(plan.BundleState("dev before", was), "dev now", now)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Title())
	for _, c := range p.Assignments {
		for _, key := range c.Config {
			fmt.Printf("%s on %s: %s %s -> %s (%s)\n", c.Title, c.ClusterType, key.Key, *key.Old, *key.New, key.From)
		}
	}
	// Output:
	// dev: 1 changed
	// shop/test on drone: REGION west -> east (config.yaml:1)
}
