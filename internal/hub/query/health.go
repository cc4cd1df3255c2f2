package query

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

// Health is what runs on the clusters of an environment, and how healthy it is. The map, the pages, commands and
// needs have the same definition. A gate can be narrower: that of the platform counts only the reconcilers of the
// platform's own objects.
type Health struct {
	// Clusters counts clusters by state: each has the most urgent one that it is in, itself or with one of its
	// workloads.
	Clusters MapCounts `json:"clusters"`
	// Workloads counts clusters by the most urgent state of what is assigned to them, without their own, unless
	// they are offline or report nothing themselves. A cluster without assignments is ready.
	Workloads MapCounts `json:"workloads"`
	// Failing names the targets that fail somewhere, in natural order, at most five; FailingTargets counts them.
	Failing        []string `json:"failing,omitempty"`
	FailingTargets int      `json:"failingTargets,omitempty"`

	failsOn map[string][]string // the clusters on which targets fail
}

// health returns what runs on the clusters of an environment now.
func (o *Observer) health(ctx context.Context, sc *environmentView, verdict *comply.Verdict) (*Health, error) {
	b := mapBuilder{q: &MapQuery{Environment: sc.name}, view: sc}
	if err := o.mapMembers(ctx, &b, verdict); err != nil {
		return nil, err
	}
	if err := o.mapTargets(ctx, &b); err != nil {
		return nil, err
	}
	h := &Health{failsOn: map[string][]string{}}
	b.failsOn = h.failsOn
	b.judge()
	for _, m := range b.members {
		h.Clusters.add(m.State, 1)
		h.Workloads.add(m.workloads(), 1)
	}
	failing := natural.Sort(slices.Collect(maps.Keys(h.failsOn)))
	h.FailingTargets, h.Failing = len(failing), slices.Clone(failing[:min(len(failing), maxFailedTargets)])
	return h, nil
}

// workloads returns the most urgent state of the workloads on a cluster.
func (m *mapMember) workloads() MapState {
	switch {
	case m.platform == MapOffline:
		return MapOffline
	case m.Targets.Failed > 0:
		return MapFailed
	case m.platform == MapMissing:
		return MapMissing
	case m.Targets.Total == 0:
		return MapReady
	}
	return m.Targets.Worst()
}

// Trouble says on how many clusters workloads fail, such as "workloads failing on 29"; if they fail nowhere, on how
// many clusters that report they are not reported; or that nothing is known of any. It is empty otherwise.
func (e *Environment) Trouble() string {
	h := e.Health
	if h == nil {
		return ""
	}
	silent := h.Workloads.Missing
	if e.Gate != nil {
		silent -= e.Gate.Counts.Missing
	}
	switch {
	case h.Workloads.Failed > 0:
		return fmt.Sprintf("workloads failing on %d", h.Workloads.Failed)
	case silent > 0:
		return fmt.Sprintf("workloads not reported on %d", silent)
	case h.Workloads.Unknown > 0 && h.Workloads.Ready == 0:
		return fmt.Sprintf("workloads unknown on %d", h.Workloads.Unknown)
	}
	return ""
}
