package main

import (
	"github.com/kalypso-io/kalypso/internal/delivery"
	"github.com/kalypso-io/kalypso/internal/promoting"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/sandbox"
	"github.com/kalypso-io/kalypso/internal/verify"
)

var (
	_ promoting.Checks  = (*verify.Runner)(nil)
	_ delivery.Renderer = (*sandbox.Runner)(nil)
)

// platform is the pipeline of a control plane, for one round. chain takes in environments without rules of their own.
func (f *flows) platform(controlPlane string, chain []string, rollouts promoting.Rollouts) *promoting.Platform {
	return &promoting.Platform{
		ControlPlane: controlPlane, Chain: chain,
		Loader: f.loader(), Lines: repository.Lines{Client: f.client}, Committer: repository.PromotionCommitter{Committer: f.commits}, Forges: f.forges, Rollouts: rollouts,
	}
}
