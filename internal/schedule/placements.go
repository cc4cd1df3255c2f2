package schedule

import (
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/placementdecision"
)

// Placements returns what the GitOps branch holds once the draft is merged: what is wanted and could be rendered, what is published and
// held, and, as long as the plan needs approval, what it would remove. Who follows them removes nothing that Kalypso keeps.
func (d *Draft) Placements() []placementdecision.Pair {
	var pairs []placementdecision.Pair
	add := func(a *bundle.Assignment) {
		pairs = append(pairs, placementdecision.Pair{Target: a.Target, ClusterType: a.ClusterType, Cluster: a.Cluster})
	}
	for _, f := range d.Bundle.Folders {
		for i := range f.Assignments {
			if a := &f.Assignments[i]; a.Held == nil || len(a.Files) > 0 {
				add(a)
			}
		}
	}
	if d.Plan != nil && len(d.Plan.Refusals) > 0 {
		for i := range d.Bundle.Removed {
			add(&d.Bundle.Removed[i])
		}
	}
	return pairs
}
