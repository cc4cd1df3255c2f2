package fleet_test

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

// A platform team describes an environment, an application team a workload; together they form a snapshot.
func Example() {
	main := fleet.Read(nil, fleettest.Source("main", map[string]string{"app.yaml": `
apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata:
  name: shop
spec:
  workload: {repo: https://example.com/shop, branch: main, path: .}
  workspace: retail
`}))
	dev := fleet.Read(nil, fleettest.Source("dev", map[string]string{"fleet.yaml": `
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: large
  labels: {region: west}
spec: {reconciler: flux, owner: ada}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: dev}
spec: {repo: https://example.com/gitops, branch: dev}
`}))
	shop := fleet.Read(nil, fleettest.Source("shop", map[string]string{"workload.yaml": `
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata:
  name: shop
spec:
  deploymentTargets:
    - {name: test, environment: dev, labels: {purpose: test}}
    - {name: uat, environment: stage}
`}))

	s := fleet.Assemble(fleet.Inputs{
		Environment: "dev", Main: main, Branch: dev,
		Workloads: map[string]fleet.Fetched{"shop": {Objects: shop}},
	})
	for _, t := range s.Targets {
		fmt.Println(t.Name, t.Labels, t.Position)
	}
	for _, p := range s.Problems {
		fmt.Println(p.Position, p.Severity, p.Message+"; "+p.Hint)
	}
	// Output:
	// shop-test map[purpose:test workload:shop workspace:retail] workload.yaml:8
	// fleet.yaml:7 warning "spec.owner" is not a field;
}
