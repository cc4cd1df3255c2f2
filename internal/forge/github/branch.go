package github

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// CreateBranch creates a branch at a commit.
func (r *Repository) CreateBranch(ctx context.Context, branch, commit string) error {
	owner, name := r.names()
	ref := "refs/heads/" + branch
	_, answer, err := r.forge.client.Git.CreateRef(createBranch.on(ctx), owner, name, github.CreateRef{Ref: ref, SHA: commit})
	err = r.explain(createBranch, answer, err)
	if !errors.Is(err, forge.ErrConflict) {
		return err
	}
	existing, _, readErr := r.forge.client.Git.GetRef(readBranch.on(ctx), owner, name, ref)
	if readErr == nil && existing.GetObject().GetSHA() == commit {
		return nil
	}
	return err
}

// DeleteBranch deletes a branch. GitHub answers 422 if it does not exist.
func (r *Repository) DeleteBranch(ctx context.Context, branch string) error {
	owner, name := r.names()
	answer, err := r.forge.client.Git.DeleteRef(deleteBranch.on(ctx), owner, name, "refs/heads/"+branch)
	if answer != nil && answer.StatusCode == http.StatusUnprocessableEntity && strings.Contains(message(err), "does not exist") {
		return nil
	}
	return r.explain(deleteBranch, answer, err)
}

// Protection reads a branch's requirements.
func (r *Repository) Protection(ctx context.Context, branch string) (forge.Protection, error) {
	owner, name := r.names()
	p, answer, err := r.forge.client.Repositories.GetBranchProtection(readProtection.on(ctx), owner, name, branch)
	if errors.Is(err, github.ErrBranchNotProtected) {
		return forge.Protection{}, nil
	}
	if err != nil {
		return forge.Protection{}, r.explain(readProtection, answer, err)
	}
	var result forge.Protection
	if reviews := p.GetRequiredPullRequestReviews(); reviews != nil {
		result.PullRequestsOnly = true
		result.Approvals, result.CodeOwners = reviews.RequiredApprovingReviewCount, reviews.RequireCodeOwnerReviews
	}
	if checks := p.GetRequiredStatusChecks(); checks != nil && checks.Contexts != nil && len(*checks.Contexts) > 0 {
		result.Checks = slices.Sorted(slices.Values(*checks.Contexts))
	}
	return result, nil
}

// Protect sets a branch's requirements. Administrators can bypass them, which is GitHub's default.
func (r *Repository) Protect(ctx context.Context, branch string, p forge.Protection) error {
	owner, name := r.names()
	if !p.Protected() {
		answer, err := r.forge.client.Repositories.RemoveBranchProtection(removeProtection.on(ctx), owner, name, branch)
		if errors.Is(err, github.ErrBranchNotProtected) || strings.Contains(message(err), "Branch not protected") {
			return nil
		}
		return r.explain(removeProtection, answer, err)
	}
	request := &github.ProtectionRequest{}
	if len(p.Checks) > 0 {
		request.RequiredStatusChecks = &github.RequiredStatusChecks{Contexts: &p.Checks}
	}
	if p.PullRequestsOnly || p.Approvals > 0 || p.CodeOwners {
		request.RequiredPullRequestReviews = &github.PullRequestReviewsEnforcementRequest{
			RequireCodeOwnerReviews: p.CodeOwners, RequiredApprovingReviewCount: p.Approvals,
		}
	}
	_, answer, err := r.forge.client.Repositories.UpdateBranchProtection(setProtection.on(ctx), owner, name, branch, request)
	return r.explain(setProtection, answer, err)
}
