package comply

import (
	"cmp"
	"path"
	"slices"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Cluster is a registered cluster.
type Cluster struct {
	Name        string
	Memberships []Membership
	// Heard is the latest time at which the server knew of the cluster, by the clock of the server:
	// when a report or a sign of life arrived; for a file that was carried by hand, when it was written but never later than
	// its arrival. Zero means that nothing but the times of its observations is known.
	Heard time.Time
}

// Membership says that a cluster serves an environment as one of a cluster type.
type Membership struct {
	Environment string
	ClusterType string
}

// Expected is a reconciler that has to run the commit.
type Expected struct {
	Cluster     string // required
	ClusterType string
	// Target is the deployment target whose manifests it applies; empty for the platform's own reconciler.
	Target string
	Source hub.Source // required
	Heard  time.Time  // of the cluster
}

// ExpectPlatform lists the reconcilers that have to follow the platform GitOps branch of an environment:
// one for each membership in it, whether or not its cluster type has anything to run.
// A cluster with one membership is known by repository and branch alone;
// where it has several, the folders of the cluster types tell them apart.
func ExpectPlatform(clusters []Cluster, environment string, gitOps hub.Source) []Expected {
	var expected []Expected
	for _, c := range clusters {
		types := c.clusterTypes(environment)
		for _, ct := range types {
			source := hub.Source{Repository: gitOps.Repository, Ref: gitOps.Ref}
			if len(types) > 1 {
				source.Path = path.Join(gitOps.Path, ct)
			}
			expected = append(expected, Expected{Cluster: c.Name, ClusterType: ct, Source: source, Heard: c.Heard})
		}
	}
	return sortExpected(expected)
}

// Target is a deployment target of an application, and where it is assigned to.
type Target struct {
	Name         string
	ClusterTypes []string
	// Source is where the manifests of the target are.
	Source hub.Source
}

// ExpectTargets lists the reconcilers that have to follow the manifests of some targets:
// one for each target and each member of the cluster types it is assigned to.
func ExpectTargets(clusters []Cluster, environment string, targets []Target) []Expected {
	var expected []Expected
	for _, c := range clusters {
		for _, ct := range c.clusterTypes(environment) {
			for _, t := range targets {
				if slices.Contains(t.ClusterTypes, ct) {
					expected = append(expected, Expected{Cluster: c.Name, ClusterType: ct, Target: t.Name, Source: t.Source, Heard: c.Heard})
				}
			}
		}
	}
	return sortExpected(expected)
}

// clusterTypes are what a cluster is in an environment, each once.
func (c Cluster) clusterTypes(environment string) []string {
	var types []string
	for _, m := range c.Memberships {
		if m.Environment == environment && !slices.Contains(types, m.ClusterType) {
			types = append(types, m.ClusterType)
		}
	}
	return types
}

func sortExpected(expected []Expected) []Expected {
	slices.SortFunc(expected, func(a, b Expected) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.ClusterType, b.ClusterType), cmp.Compare(a.Target, b.Target))
	})
	// A cluster that is listed twice does not count twice.
	return slices.CompactFunc(expected, func(a, b Expected) bool {
		return a.Cluster == b.Cluster && a.ClusterType == b.ClusterType && a.Target == b.Target
	})
}
