package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Trial asks what something would do to the fleet, without doing or saying anything:
//
//	Change       merging an open change of the control plane, as its preview says
//	Branch       merging a branch of the control plane into another one
//	Commit       promoting a commit of main to the environment: what the pull request would be that follows
//	none         what is pending: what the control plane wants, compared with what the GitOps branch holds
//
// It is comparable: equal trials ask the same.
type Trial struct {
	ControlPlane string // required
	// Environment is the only one that is asked about. Empty means all that a branch or change touches; the others need one.
	Environment string
	// At most one of these is set. A commit may be short.
	Change         int
	Branch, Commit string
	// Into is the branch that Branch would be merged into; empty for main.
	Into string
}

// The reasons why something is not planned.
var (
	// ErrFork says that a change comes from a fork, and that those are not planned here.
	ErrFork = errors.New("changes from forks are not planned here; previewForks allows it")
	// ErrTrial says that a trial makes no sense.
	ErrTrial = errors.New("this cannot be planned")
)

// Try answers a trial. Nothing is written anywhere.
// Only branches, changes and commits of main count: no other commit that happens to be in a repository.
// Errors are [ErrTrial], [ErrFork], [ErrNoBranch], those of the forge, and any other where something cannot be read.
func (p *Previewer) Try(ctx context.Context, t Trial) (*Preview, error) {
	switch {
	case t.Change != 0:
		return p.tryChange(ctx, t)
	case t.Branch != "":
		return p.tryBranch(ctx, t)
	case t.Environment == "":
		return nil, fmt.Errorf("%w: name the environment", ErrTrial)
	case t.Commit != "":
		return p.tryCommit(ctx, t)
	}
	return p.pending(ctx, Request{ControlPlane: t.ControlPlane, Environment: t.Environment})
}

func (p *Previewer) tryChange(ctx context.Context, t Trial) (*Preview, error) {
	host, err := p.Forges.Forge(t.ControlPlane)
	if err != nil {
		return nil, err
	}
	repo, err := host.Repository(t.ControlPlane)
	if err != nil {
		return nil, err
	}
	change, err := repo.PullRequest(ctx, t.Change)
	if err != nil {
		return nil, err
	}
	if change.Head.Fork != "" && !p.Forks {
		return nil, ErrFork
	}
	m := mergeOf(change)
	m.environment = t.Environment
	preview, err := p.merged(ctx, t.ControlPlane, m)
	if err != nil {
		return nil, err
	}
	preview.Change = &change
	return preview, nil
}

// tryBranch plans a merge. What is merged into nothing is planned where it counts: the branch of an environment for that
// environment, and main for the one that it would be promoted to.
func (p *Previewer) tryBranch(ctx context.Context, t Trial) (*Preview, error) {
	branches, err := p.Drafter.Loader.EnvironmentBranches(ctx, Request{ControlPlane: t.ControlPlane})
	if err != nil {
		return nil, err
	}
	own := slices.IndexFunc(branches, func(b EnvironmentBranch) bool {
		return b.Branch == t.Branch && (t.Environment == "" || t.Environment == b.Environment)
	})
	switch {
	case t.Branch == DefaultBase && t.Environment == "":
		return nil, fmt.Errorf("%w: name the environment that %s would be promoted to", ErrTrial, DefaultBase)
	case own >= 0:
		return p.pending(ctx, Request{ControlPlane: t.ControlPlane, Environment: branches[own].Environment})
	}
	source, err := p.Drafter.Loader.Repositories.Source(ctx, Location{Repo: t.ControlPlane, Branch: t.Branch})
	if err != nil {
		return nil, err
	}
	if t.Branch == DefaultBase {
		return p.pending(ctx, Request{ControlPlane: t.ControlPlane, Environment: t.Environment, MainRef: source.Commit})
	}
	return p.merged(ctx, t.ControlPlane, merge{head: source.Commit, base: cmp.Or(t.Into, DefaultBase), environment: t.Environment})
}

func (p *Previewer) tryCommit(ctx context.Context, t Trial) (*Preview, error) {
	source, err := p.Drafter.Loader.Repositories.Source(ctx, Location{Repo: t.ControlPlane, Branch: DefaultBase, Commit: t.Commit})
	if errors.Is(err, ErrNoCommit) { // where it was looked for is nobody's business
		return nil, fmt.Errorf("%w: the control plane has no commit %.64q, or several that begin so", ErrTrial, t.Commit)
	}
	if err != nil {
		return nil, err
	}
	on, err := p.Drafter.Loader.Repositories.Contains(ctx, Location{Repo: t.ControlPlane, Branch: DefaultBase}, source.Commit)
	if err == nil && !on {
		err = fmt.Errorf("%w: commit %s is not on branch %q", ErrTrial, fleet.ShortCommit(source.Commit), DefaultBase)
	}
	if err != nil {
		return nil, err
	}
	return p.pending(ctx, Request{ControlPlane: t.ControlPlane, Environment: t.Environment, MainRef: source.Commit})
}

// pending plans what an environment wants, compared with what its GitOps branch holds.
func (p *Previewer) pending(ctx context.Context, r Request) (*Preview, error) {
	draft, err := p.Drafter.Draft(ctx, DraftRequest{Request: r})
	if err != nil {
		return nil, err
	}
	return &Preview{Drafts: []*Draft{draft}}, nil
}
