package comply

import (
	"cmp"
	"path"
	"slices"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Cluster is a registered cluster.
type Cluster struct {
	Name        string
	Memberships []Membership
	// Heard is when the cluster last reported, by the clock of the server. For a report file that was carried by hand, it is when the
	// file was written, but not later than its arrival. If zero, the newest observation counts.
	Heard time.Time
	// ReadUntil is when the service to which the cluster reports was last read; zero if it reports to the server. What it reported since then
	// is not known, so that it is not silent because of that.
	ReadUntil time.Time
	// Registered is when it was registered as it is now; zero if that is not known. It may have been a member before.
	Registered time.Time
}

// Silent returns how long a cluster has not reported, as far as that is known. A cluster that was heard after its service could last be
// read reports in another way, and counts like any other.
func (c Cluster) Silent(now time.Time) time.Duration { return silence(c.Heard, c.ReadUntil, now) }

func silence(heard, readUntil, now time.Time) time.Duration {
	if !readUntil.IsZero() && readUntil.Before(now) && !heard.After(readUntil) {
		now = readUntil
	}
	return now.Sub(heard)
}

// Membership is an environment that a cluster serves, and the cluster type it serves as.
type Membership struct {
	Environment string
	ClusterType string
}

// Expected is a reconciler that should run the commit.
type Expected struct {
	Cluster     string // required
	ClusterType string
	// Target is the deployment target whose manifests it applies; empty for the platform's reconciler.
	Target string
	Source hub.Source // required
	// Or is another folder that it may follow instead; optional.
	Or string
	// AnyParent accepts the folder below any parent, where the root of the branch is unknown.
	AnyParent bool
	Heard     time.Time // of the cluster
	ReadUntil time.Time // of the cluster
}

// Folders are the clusters that have a folder of their own in a platform GitOps branch.
type Folders struct {
	// Types are their cluster types there, by cluster.
	Types map[string]string
	// Unknown means that these clusters are not known. Each cluster may follow the folder of its type or its own.
	Unknown bool
}

// ExpectPlatform returns the reconcilers that should follow the platform GitOps branch of an environment:
// one for each membership, with the folder of its cluster type, or of the cluster if it has one there as this type. A type that has
// nothing to run counts, too.
func ExpectPlatform(clusters []Cluster, environment string, gitOps hub.Source, folders Folders) []Expected {
	expected := make([]Expected, 0, len(clusters))
	for _, c := range clusters {
		for _, ct := range c.clusterTypes(environment) {
			own := path.Join(gitOps.Path, fleet.ClusterFolder(c.Name))
			source := hub.Source{Repository: gitOps.Repository, Ref: gitOps.Ref, Path: path.Join(gitOps.Path, ct)}
			if folders.Types[c.Name] == ct {
				source.Path = own
			}
			e := Expected{Cluster: c.Name, ClusterType: ct, Source: source, Heard: c.Heard, ReadUntil: c.ReadUntil}
			if folders.Unknown {
				e.Or = own
			}
			expected = append(expected, e)
		}
	}
	return sortExpected(expected)
}

// Target is a deployment target of an application and its assignments.
type Target struct {
	Name         string
	ClusterTypes []string
	// Source is where the target's manifests are.
	Source hub.Source
}

// ExpectTargets returns the reconcilers that should follow the manifests of targets:
// one for each target and each member of its cluster types.
func ExpectTargets(clusters []Cluster, environment string, targets []Target) []Expected {
	var expected []Expected
	for _, c := range clusters {
		for _, ct := range c.clusterTypes(environment) {
			for _, t := range targets {
				if slices.Contains(t.ClusterTypes, ct) {
					expected = append(expected, Expected{Cluster: c.Name, ClusterType: ct, Target: t.Name, Source: t.Source, Heard: c.Heard, ReadUntil: c.ReadUntil})
				}
			}
		}
	}
	return sortExpected(expected)
}

// clusterTypes returns the distinct cluster types of a cluster in an environment.
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
