package deliver

import (
	"context"
	"errors"
	"sync"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// Platform reads from a control plane what it requires of applications and gives them. It reads each environment once, and
// is safe for concurrent use.
type Platform struct {
	// ControlPlane is the URL or path of the repository. // required
	ControlPlane string
	// Loader reads it. // required
	Loader *schedule.Loader

	mu     sync.Mutex
	loaded map[string]*platformEnvironment
}

// platformEnvironment is an environment, and what runs where in it.
type platformEnvironment struct {
	*schedule.Loaded
	decisions *placement.Decisions
}

var _ Policies = (*Platform)(nil)

func (p *Platform) load(ctx context.Context, environment string) (*platformEnvironment, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.loaded[environment]; known != nil {
		return known, nil
	}
	loaded, err := p.Loader.Load(ctx, schedule.Request{ControlPlane: p.ControlPlane, Environment: environment})
	if err != nil {
		return nil, err
	}
	decisions, err := p.Loader.Decide(ctx, loaded)
	if err != nil {
		return nil, err
	}
	if p.loaded == nil {
		p.loaded = map[string]*platformEnvironment{}
	}
	p.loaded[environment] = &platformEnvironment{loaded, decisions}
	return p.loaded[environment], nil
}

// Policy implements [Policies].
func (p *Platform) Policy(ctx context.Context, environment string) (check.Policy, []fleet.Problem, error) {
	loaded, err := p.load(ctx, environment)
	if err != nil {
		return check.Policy{}, nil, err
	}
	policy, problems := check.PolicyOf(loaded.Snapshot)
	return policy, problems, nil
}

// Rights implements [Policies].
func (p *Platform) Rights(ctx context.Context, environment, workload string) (map[string]check.Rights, error) {
	loaded, err := p.load(ctx, environment)
	if err != nil {
		return nil, err
	}
	return Rights(loaded.Snapshot, loaded.decisions, workload), nil
}

// Rings implements [Policies].
func (p *Platform) Rings(ctx context.Context, environment string) ([]fleet.Stage, error) {
	loaded, err := p.load(ctx, environment)
	if err != nil {
		return nil, err
	}
	gitOps, err := p.Loader.GitOps(ctx, loaded.Loaded, "")
	if err != nil {
		return nil, err
	}
	return StagesOf(gitOps.Published)
}

// StagesOf returns the rings of a platform GitOps branch for [Policies].
func StagesOf(published *bundle.Published) ([]fleet.Stage, error) {
	rings, unknown := published.Rings()
	switch {
	case unknown:
		return nil, errors.New("the platform's rings cannot be read")
	case rings == nil:
		return nil, nil
	}
	return rings.Stages, nil
}

// Contract returns what a workload needs of the platform in an environment; see [Contract].
func (p *Platform) Contract(ctx context.Context, environment, workload string) ([]Need, error) {
	loaded, err := p.load(ctx, environment)
	if err != nil {
		return nil, err
	}
	return Contract(loaded.Snapshot, loaded.decisions, workload), nil
}
