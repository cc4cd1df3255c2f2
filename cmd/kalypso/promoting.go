package main

import (
	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
)

var (
	_ promote.Checks   = (*verify.Runner)(nil)
	_ deliver.Renderer = (*sandbox.Runner)(nil)
)

// platform is the pipeline of a control plane, for one round. chain takes in environments without rules of their own.
func (f *flows) platform(controlPlane string, chain []string, rollouts promote.Rollouts) *promote.Platform {
	return &promote.Platform{
		ControlPlane: controlPlane, Chain: chain,
		Loader: f.loader(), Lines: repository.Lines{Client: f.client}, Committer: repository.PromotionCommitter{Committer: f.commits}, Forges: f.forges, Rollouts: rollouts,
	}
}
