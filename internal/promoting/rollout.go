package promoting

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/promotion"
	"github.com/kalypso-io/kalypso/internal/scheduling"
)

// Rollouts know what became of the manifests of a control plane's environments.
type Rollouts interface {
	// Rollout returns what the last scheduling round of an environment found; nil when there was none yet.
	Rollout(ctx context.Context, environment string) (*scheduling.Outcome, error)
}

// RolloutOf says how far the manifests of a commit of main have come, by what a scheduling round found.
// A round on other commits of main or of the environment's branch says nothing: the state is none then.
func RolloutOf(o *scheduling.Outcome, main, branch string) promotion.Rollout {
	return promotion.Rollout{}
}
