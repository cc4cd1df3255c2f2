package promoting

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/promotion"
	"github.com/kalypso-io/kalypso/internal/scheduling"
)

// Platform moves the commits of a control plane's main branch: an environment names one in the BaseRepo of its branch.
//
// Like the repositories that it reads, a Platform is for one round.
type Platform struct {
	// ControlPlane is the URL of its repository. // required
	ControlPlane string
	// Chain names environments one after the other; it is how those without rules of their own take part.
	Chain []string
	// Loader reads the control plane. // required
	Loader *scheduling.Loader
	// Lines gives the history of its main branch. // required
	Lines Lines
	// Committer writes to environment branches; [ErrProtected] from Push makes it a proposal. // required
	Committer scheduling.Committer
	// Forges host the control plane. // required
	Forges scheduling.Forges
	// Rollouts are what scheduling rounds found. // required
	Rollouts Rollouts
}

// Lines knows the history of branches.
type Lines interface {
	// Line returns the commits that a branch was at, the oldest first, and the newest limit of them at most:
	// of a merge only the side that it was merged into.
	Line(ctx context.Context, branch scheduling.Location, limit int) ([]Commit, error)
}

var _ Pipeline = (*Platform)(nil)

// Read finds out where every commit of main is.
func (p *Platform) Read(ctx context.Context) (*Reading, error) { return &Reading{}, nil }

// Move writes the BaseRepo of an environment, or proposes that.
func (p *Platform) Move(ctx context.Context, m Move) (Moved, error) { return Moved{}, nil }

// Withdraw closes a proposal.
func (p *Platform) Withdraw(ctx context.Context, w promotion.Withdraw) error { return nil }

// SetStatus shows how a commit stands.
func (p *Platform) SetStatus(ctx context.Context, s promotion.SetStatus) error { return nil }
