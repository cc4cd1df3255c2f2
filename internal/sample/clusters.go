package sample

import (
	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/simulation"
)

// Clusters are the simulated clusters of a sample: two of type drone that follow Git with Flux, and one large with Argo CD,
// each with a role in every environment.
func Clusters(at Site) []simulation.Cluster {
	clusters := []simulation.Cluster{
		{Name: "drone-1", Reconciler: simulation.Flux}, {Name: "drone-2", Reconciler: simulation.Flux}, {Name: "large", Reconciler: simulation.ArgoCD},
	}
	for i := range clusters {
		clusterType := "drone"
		if clusters[i].Name == "large" {
			clusterType = "large"
		}
		for _, e := range Environments() {
			clusters[i].Memberships = append(clusters[i].Memberships, simulation.Membership{
				Environment: e, ClusterType: clusterType, GitOps: hub.Repository{Repo: at.Repository(GitOps), Branch: e},
			})
		}
	}
	return clusters
}
