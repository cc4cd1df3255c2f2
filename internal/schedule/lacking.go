package schedule

import "github.com/kalypso-io/kalypso/internal/fleet"

// Lack is a problem about required values that an assignment lacks.
type Lack struct {
	ClusterType string
	// Cluster is the cluster with values of its own; empty for those that share the values of the cluster type.
	Cluster string
	Target  string
	Problem fleet.Problem
}

// Lacks returns what each assignment lacks, in the order of the folders. Problems of a plan merge it.
func (d *Draft) Lacks() []Lack {
	if d.Bundle == nil {
		return nil
	}
	var all []Lack
	for _, folder := range d.Bundle.Folders {
		for i := range folder.Assignments {
			a := &folder.Assignments[i]
			if a.Config == nil {
				continue
			}
			for _, p := range a.Config.Lacks {
				all = append(all, Lack{a.ClusterType, a.Cluster, a.Target, p})
			}
		}
	}
	return all
}
