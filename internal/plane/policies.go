package plane

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// Policies are the check policies of a control plane's environments, as the last rounds read them.
type Policies struct {
	Board        *Board
	ControlPlane string
}

var _ deliver.Policies = Policies{}

// Policy implements [deliver.Policies]. Until an environment was read, the error is [query.ErrNotRead], and nothing is
// proposed there.
func (p Policies) Policy(_ context.Context, environment string) (check.Policy, []fleet.Problem, error) {
	last := p.Board.Outcome(p.ControlPlane, environment)
	if last == nil || last.Loaded == nil {
		return check.Policy{}, nil, query.ErrNotRead
	}
	policy, problems := check.PolicyOf(last.Loaded.Snapshot)
	return policy, problems, nil
}

// Rights implements [deliver.Policies].
func (p Policies) Rights(_ context.Context, environment, workload string) (map[string]check.Rights, error) {
	last := p.Board.Outcome(p.ControlPlane, environment)
	if last == nil || last.Loaded == nil || last.Bundle == nil {
		return nil, query.ErrNotRead
	}
	return deliver.Rights(last.Loaded.Snapshot, last.Bundle.Decisions, workload), nil
}

// Rings implements [deliver.Policies].
func (p Policies) Rings(_ context.Context, environment string) ([]fleet.Stage, error) {
	last := p.Board.Outcome(p.ControlPlane, environment)
	if last == nil || last.Bundle == nil {
		return nil, query.ErrNotRead
	}
	return deliver.StagesOf(last.Bundle.Published())
}

var _ deliver.Depending = Policies{}

// Dependencies implements [deliver.Depending].
func (p Policies) Dependencies(_ context.Context, environment string) (*deliver.Dependencies, error) {
	last := p.Board.Outcome(p.ControlPlane, environment)
	if last == nil || last.Loaded == nil || last.Bundle == nil {
		return nil, query.ErrNotRead
	}
	away := map[string]bool{}
	for _, cp := range p.Board.ControlPlanes() {
		if cp.URL != p.ControlPlane {
			continue
		}
		for _, a := range cp.Applications {
			for _, e := range a.Environments {
				if e.Environment != environment || e.Detail == nil {
					continue
				}
				for _, t := range e.Detail.Pinned {
					away[a.Name+"/"+t.Name] = t.Uninstalled
				}
			}
		}
	}
	return &deliver.Dependencies{
		Snapshot: last.Loaded.Snapshot, Decisions: last.Bundle.Decisions,
		Uninstalled: func(workload, target string) bool { return away[workload+"/"+target] },
	}, nil
}
