package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// An application's environment can have rings. Its GitOps branch is what is reviewed. Each ring has the branch
// "<branch>-ring-<ring>", which is moved to merged commits. Which cluster is in which ring is decided by the platform: a ring of an application
// has the clusters of the platform's ring with its name, and the last one all others. Clusters follow the branches of rings if the
// targets say so, with manifests.rings.

// rings checks the rings of an environment.
func (c *checker) rings(environment string, p *scheduler.Promotion) {
	rings, names := p.Rings, map[string]bool{}
	for i, r := range rings {
		if slices.ContainsFunc(p.Verify, func(v scheduler.Verification) bool { return v.Name == r.Name }) {
			c.fail("a ring and a verification of environment %s are called %q, and both have a commit status of this name", environment, r.Name)
		}
		c.name("a ring of environment "+environment, r.Name)
		if names[r.Name] {
			c.fail("environment %s has two rings called %q", environment, r.Name)
		}
		names[r.Name] = true
		if r.Selector != nil || r.Percent != 0 || len(r.Clusters) > 0 || r.MaxUnavailable != nil {
			c.fail("ring %q of environment %s: the platform decides which clusters are in it, and in which batches; remove selector, percent, clusters and maxUnavailable",
				r.Name, environment)
		}
		if r.Soak != nil && i == len(rings)-1 {
			c.fail("ring %q of environment %s: soak has no effect, because no ring comes after the last one", r.Name, environment)
		}
	}
}

// ringsOf reads the rings of an environment; nil if it has none, or nothing was merged yet.
func (p *Pipeline) ringsOf(ctx context.Context, gitOps hub.Source, environment string) *promote.Rings {
	rules := p.promotion(environment)
	if rules == nil || len(rules.Rings) == 0 {
		return nil
	}
	if why := p.app.Request.NoRings[environment]; why != "" {
		return &promote.Rings{Unknown: why}
	}
	platform, err := p.platformRings(ctx, environment)
	if err != nil {
		return &promote.Rings{Unknown: fmt.Sprintf("which clusters are in its rings is not known: %v", err)}
	}
	heads, err := p.Branches.Heads(ctx, gitOps.Repository)
	if err != nil {
		return &promote.Rings{Unknown: fmt.Sprintf("read the branches of the rings: %v", err)}
	}
	if heads[gitOps.Ref] == "" {
		return nil // nothing was merged yet
	}
	rings := &promote.Rings{}
	if rings.Line, err = p.Lines.Line(ctx, schedule.Location{Repo: gitOps.Repository, Branch: gitOps.Ref}, maxLine); err != nil {
		return &promote.Rings{Unknown: fmt.Sprintf("read the GitOps branch %q: %v", gitOps.Ref, err)}
	}
	for i, r := range rules.Rings {
		s := promote.RingState{Stage: fleet.Stage{Name: r.Name, Ring: r.Name}, Branch: fleet.RingBranch(gitOps.Ref, r.Name)}
		for _, stage := range platform {
			named := slices.ContainsFunc(rules.Rings, func(r scheduler.Ring) bool { return r.Name == stage.Ring })
			if stage.Ring == r.Name || !named && i == len(rules.Rings)-1 {
				s.Clusters = append(s.Clusters, stage.Clusters...)
			}
		}
		slices.Sort(s.Clusters)
		s.Head, s.Commit = heads[s.Branch], heads[s.Branch]
		if s.Head != "" && !slices.ContainsFunc(rings.Line, func(c promote.Commit) bool { return c.SHA == s.Head }) {
			s.Unknown = fmt.Sprintf("branch %q is at %s, which is not a commit of branch %q; only Kalypso moves it: delete it, or move it to a commit of %q",
				s.Branch, fleet.ShortCommit(s.Head), gitOps.Ref, gitOps.Ref)
		}
		rings.Stages = append(rings.Stages, s)
	}
	return rings
}

// platformRings returns the rings of the platform.
func (p *Pipeline) platformRings(ctx context.Context, environment string) ([]fleet.Stage, error) {
	if p.Deliverer.Policies == nil {
		return nil, errors.New("no control plane was given")
	}
	stages, err := p.Deliverer.Policies.Rings(ctx, environment)
	if err == nil && len(stages) == 0 {
		err = fmt.Errorf("the platform has no rings in environment %q; remove those of the Delivery, or ask the platform team", environment)
	}
	return stages, err
}

// promotion returns the rules of an environment; nil if there are none.
func (p *Pipeline) promotion(environment string) *scheduler.Promotion {
	for _, e := range p.app.Delivery.Spec.Environments {
		if e.Name == environment {
			return e.Promotion
		}
	}
	return nil
}

// moveRing moves the branch of a ring to a commit of the environment's GitOps branch.
func (p *Pipeline) moveRing(ctx context.Context, environment, stage string, m promote.Move) (promote.MoveResult, error) {
	at, known := p.rings[environment]
	if !known {
		return promote.MoveResult{}, fmt.Errorf("environment %q has no rings", environment)
	}
	branch := fleet.RingBranch(at.Ref, stage)
	err := p.Deliverer.Committer.Push(ctx, at.Repository, branch, m.From, m.Commit)
	switch {
	case errors.Is(err, pullrequest.ErrMoved):
		return promote.MoveResult{}, nil // another server was faster
	case err != nil:
		return promote.MoveResult{}, fmt.Errorf("move branch %q of ring %s: %w", branch, m.Environment, err)
	case m.Back:
		return promote.MoveResult{Did: fmt.Sprintf("took %s back to %s", m.Environment, fleet.ShortCommit(m.Commit)), Revision: m.Commit}, nil
	}
	return promote.MoveResult{Did: fmt.Sprintf("moved %s to %s", m.Environment, fleet.ShortCommit(m.Commit)), Revision: m.Commit}, nil
}

// statusContext returns the context of the commit statuses for an environment or ring.
func (a *Application) statusContext(name string) string {
	environment, ring := decide.SplitRing(name)
	if ring == "" {
		return a.StatusContext(environment)
	}
	return a.StatusContext(environment) + "/" + ring
}
