package sample

import (
	"slices"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/simulation"
)

// ClusterTypes are those of the tutorial's clusters.
func ClusterTypes() []string { return []string{"drone", "large"} }

// Clusters are the simulated clusters of a sample: two of type drone that follow Git with Flux, and one large with Argo CD,
// each with a role in every environment. There are none of a type that real clusters serve.
func Clusters(at Site, real []RealCluster) []simulation.Cluster {
	clusters := []simulation.Cluster{
		{Name: "drone-1", Reconciler: simulation.Flux}, {Name: "drone-2", Reconciler: simulation.Flux}, {Name: "large", Reconciler: simulation.ArgoCD},
	}
	var simulated []simulation.Cluster
	for _, c := range clusters {
		clusterType := "drone"
		if c.Name == "large" {
			clusterType = "large"
		}
		if slices.ContainsFunc(real, func(r RealCluster) bool { return r.ClusterType == clusterType }) {
			continue
		}
		c.Memberships = Memberships(at, clusterType)
		simulated = append(simulated, c)
	}
	return simulated
}

// Memberships are the roles of a cluster of a type: one in every environment.
func Memberships(at Site, clusterType string) []simulation.Membership {
	var all []simulation.Membership
	for _, e := range Environments() {
		all = append(all, simulation.Membership{
			Environment: e, ClusterType: clusterType, GitOps: hub.Repository{Repo: at.Repository(GitOps), Branch: e},
		})
	}
	return all
}
