package bundle_test

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// A cluster type, a workload and a policy that selects both give one assignment with three files. A second build,
// with these files published, has no changes.
func ExampleBuild() {
	// Reading a control plane from Git is not part of this example.
	s := fleet.Assemble(fleettest.Inputs("dev", map[string]string{
		"env/drone.yaml": `{apiVersion: scheduler.kalypso.io/v1alpha1, kind: ClusterType, metadata: {name: drone},
			spec: {reconciler: flux, namespaceService: default}}`,
		"env/everywhere.yaml": `{apiVersion: scheduler.kalypso.io/v1alpha1, kind: SchedulingPolicy, metadata: {name: everywhere}, spec: {deploymentTargetSelector: {}, clusterTypeSelector: {}}}`,
		"main/shop.yaml": `{apiVersion: scheduler.kalypso.io/v1alpha1, kind: WorkloadRegistration, metadata: {name: shop},
			spec: {workspace: kaizen, workload: {repo: "https://example.com/shop", branch: main, path: .}}}`,
		"workloads/shop/workload.yaml": `{apiVersion: scheduler.kalypso.io/v1alpha1, kind: Workload, metadata: {name: shop},
			spec: {deploymentTargets: [{name: test, environment: dev,
			  manifests: {repo: "https://example.com/shop-gitops", branch: dev, path: ./test}}]}}`,
	}))

	branch := map[string]string{}
	first := bundle.Build(s, nil, nil)
	for _, change := range first.Changes() {
		fmt.Println(change.Path)
		branch[change.Path] = string(change.Content)
	}
	published, err := readBranch(s, branch)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println("changes left:", len(bundle.Build(s, published, first).Changes()))
	// Output:
	// .kalypso/inventory/drone.json
	// drone/README.md
	// drone/shop-test/namespace.yaml
	// drone/shop-test/platform-config.yaml
	// drone/shop-test/reconciler.yaml
	// changes left: 0
}
