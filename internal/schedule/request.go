package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// PlanRequest selects what to plan:
//
//	Change       merging an open pull request of the control plane, as in its preview
//	Branch       merging a branch of the control plane into another one
//	Commit       promoting a commit of main to the environment
//	none         what is pending: the control plane compared with the GitOps branch
//
// It is comparable: equal requests have the same plan.
type PlanRequest struct {
	ControlPlane string // required
	// Environment is the environment to plan. Default: all that a branch or pull request affects; otherwise required.
	Environment string
	// At most one of these is set. A commit can be abbreviated.
	Change         int
	Branch, Commit string
	// Into is the branch to merge Branch into. Default: main.
	Into string
	// WhatIf are imagined changes, separated by spaces; see [fleet.ParseWhatIf]. The plan is what they change, and not what is pending
	// without them.
	WhatIf string
}

// Errors of [Previewer.Plan].
var (
	// ErrFork is returned for a pull request from a fork, unless [Previewer.Forks] allows it.
	ErrFork = errors.New("changes from forks are not planned here; previewForks allows it")
	// ErrInvalidPlan is returned for an invalid request.
	ErrInvalidPlan = errors.New("this cannot be planned")
)

// Plan plans a request. It writes nothing.
// Only branches, pull requests and commits of main can be planned, not other commits that are in a repository.
// Errors are [ErrInvalidPlan], [ErrFork], [ErrNoBranch], those of the forge, and others if something cannot be read.
func (p *Previewer) Plan(ctx context.Context, t PlanRequest) (*Preview, error) {
	whatIf, err := t.imagined()
	switch {
	case err != nil:
		return nil, err
	case t.Change != 0:
		return p.planPullRequest(ctx, t)
	case t.Branch != "":
		return p.planBranch(ctx, t)
	case t.Environment == "":
		return nil, fmt.Errorf("%w: name the environment", ErrInvalidPlan)
	case t.Commit != "":
		return p.planCommit(ctx, t)
	}
	return p.pending(ctx, Request{ControlPlane: t.ControlPlane, Environment: t.Environment}, whatIf...)
}

// maxWhatIf is the maximum number of imagined changes.
const maxWhatIf = 100

// imagined returns the imagined changes of a request.
func (t PlanRequest) imagined() ([]fleet.WhatIf, error) {
	written := strings.Fields(t.WhatIf)
	switch {
	case len(written) == 0:
		return nil, nil
	case t.Change != 0 || t.Branch != "" || t.Commit != "":
		return nil, fmt.Errorf("%w: what-if imagines changes of the environment, and goes with no pull request, branch or commit", ErrInvalidPlan)
	case len(written) > maxWhatIf:
		return nil, fmt.Errorf("%w: %d what-ifs, want at most %d", ErrInvalidPlan, len(written), maxWhatIf)
	}
	var all []fleet.WhatIf
	for _, text := range written {
		change, err := fleet.ParseWhatIf(text)
		if err != nil {
			return nil, fmt.Errorf("%w: what if %w", ErrInvalidPlan, err)
		}
		all = append(all, change)
	}
	return all, nil
}

func (p *Previewer) planPullRequest(ctx context.Context, t PlanRequest) (*Preview, error) {
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

// planBranch plans the merge of a branch. The branch of an environment, and main, are not merged: they are planned for
// that environment, or for the one that main would be promoted to.
func (p *Previewer) planBranch(ctx context.Context, t PlanRequest) (*Preview, error) {
	branches, err := p.Drafter.Loader.EnvironmentBranches(ctx, Request{ControlPlane: t.ControlPlane})
	if err != nil {
		return nil, err
	}
	own := slices.IndexFunc(branches, func(b EnvironmentBranch) bool {
		return b.Branch == t.Branch && (t.Environment == "" || t.Environment == b.Environment)
	})
	switch {
	case t.Branch == DefaultBase && t.Environment == "":
		return nil, fmt.Errorf("%w: name the environment that %s would be promoted to", ErrInvalidPlan, DefaultBase)
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

func (p *Previewer) planCommit(ctx context.Context, t PlanRequest) (*Preview, error) {
	source, err := p.Drafter.Loader.Repositories.Source(ctx, Location{Repo: t.ControlPlane, Branch: DefaultBase, Commit: t.Commit})
	if errors.Is(err, ErrNoCommit) { // without the URL of the repository
		return nil, fmt.Errorf("%w: the control plane has no commit %.64q, or several that begin so", ErrInvalidPlan, t.Commit)
	}
	if err != nil {
		return nil, err
	}
	on, err := p.Drafter.Loader.Repositories.Contains(ctx, Location{Repo: t.ControlPlane, Branch: DefaultBase}, source.Commit)
	if err == nil && !on {
		err = fmt.Errorf("%w: commit %s is not on branch %q", ErrInvalidPlan, fleet.ShortCommit(source.Commit), DefaultBase)
	}
	if err != nil {
		return nil, err
	}
	return p.pending(ctx, Request{ControlPlane: t.ControlPlane, Environment: t.Environment, MainRef: source.Commit})
}

// pending compares an environment with its GitOps branch, or with imagined changes, with itself without them.
func (p *Previewer) pending(ctx context.Context, r Request, whatIf ...fleet.WhatIf) (*Preview, error) {
	draft, err := p.Drafter.Draft(ctx, DraftRequest{Request: r, WhatIf: whatIf})
	if err != nil {
		return nil, err
	}
	return &Preview{Drafts: []*Draft{draft}}, nil
}
