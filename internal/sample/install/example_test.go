package install_test

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/sample/install"
)

// What a cluster gets that reads public repositories, for one environment.
func ExamplePlan_Objects() {
	plan := install.Plan{Sample: "ab12", ClusterType: "large", Repository: "https://git.example/acme/gitops", Branches: []string{"dev"}}
	objects, err := plan.Objects()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range objects {
		fmt.Println(install.Name(o))
	}
	// Output:
	// Namespace kalypso-agent
	// ServiceAccount kalypso-agent/kalypso-agent
	// ClusterRole kalypso-agent
	// ClusterRoleBinding kalypso-agent
	// GitRepository flux-system/kalypso-sample-dev
	// Kustomization flux-system/kalypso-sample-dev
}
