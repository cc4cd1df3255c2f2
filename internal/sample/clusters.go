package sample

import (
	"slices"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
)

// ClusterTypes are the cluster types of the tutorial.
func ClusterTypes() []string { return []string{"drone", "large"} }

// Clusters are the simulated clusters of a sample: two of type drone that follow Git with Flux, and one large with Argo CD,
// each a member of every environment. Types that real clusters serve have no simulated clusters.
func Clusters(at Site, real []RealCluster) []simulate.Cluster {
	clusters := []simulate.Cluster{
		{Name: "drone-1", Reconciler: simulate.Flux}, {Name: "drone-2", Reconciler: simulate.Flux}, {Name: "large", Reconciler: simulate.ArgoCD},
	}
	var simulated []simulate.Cluster
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

// Memberships returns the memberships of a cluster of a type: one in every environment.
func Memberships(at Site, clusterType string) []simulate.Membership {
	var all []simulate.Membership
	for _, e := range Environments() {
		all = append(all, simulate.Membership{
			Environment: e, ClusterType: clusterType, GitOps: hub.Repository{Repo: at.Repository(GitOps), Branch: e},
		})
	}
	return all
}
