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
	ref := "refs/heads/" + branch
	_, answer, err := r.forge.client.Git.CreateRef(createBranch.on(ctx), r.owner, r.name, github.CreateRef{Ref: ref, SHA: commit})
	return forge.IgnoreSame(r.explain(createBranch, answer, err), commit, func() (string, error) {
		existing, _, err := r.forge.client.Git.GetRef(readBranch.on(ctx), r.owner, r.name, ref)
		return existing.GetObject().GetSHA(), err
	})
}

// DeleteBranch deletes a branch. GitHub answers 422 if it does not exist.
func (r *Repository) DeleteBranch(ctx context.Context, branch string) error {
	answer, err := r.forge.client.Git.DeleteRef(deleteBranch.on(ctx), r.owner, r.name, "refs/heads/"+branch)
	if answer != nil && answer.StatusCode == http.StatusUnprocessableEntity && strings.Contains(message(err), "does not exist") {
		return nil
	}
	return r.explain(deleteBranch, answer, err)
}

// Protection reads a branch's requirements: those of its protection and of the rulesets that apply to it.
// If the token cannot read the protection, the rulesets decide, as far as they require anything.
func (r *Repository) Protection(ctx context.Context, branch string) (forge.Protection, error) {
	rules, err := r.rules(ctx, branch)
	if err != nil {
		return rules, err
	}
	classic, err := r.classicProtection(ctx, branch)
	if err != nil && !rules.Protected() {
		return forge.Protection{}, err
	}
	return union(classic, rules), forge.Ignore(forge.Ignore(err, forge.ErrDenied), forge.ErrNotFound)
}

// rules returns what the rulesets of a branch require. GitHub Enterprise Server before 3.11 has none.
func (r *Repository) rules(ctx context.Context, branch string) (forge.Protection, error) {
	var p forge.Protection
	rules, answer, err := r.forge.client.Repositories.ListRulesForBranch(readRules.on(ctx), r.owner, r.name, branch, new(perPage))
	if err != nil || rules == nil {
		return p, forge.Ignore(forge.Ignore(r.explain(readRules, answer, err), forge.ErrNotFound), forge.ErrDenied)
	}
	p.PullRequestsOnly = len(rules.PullRequest)+len(rules.Update)+len(rules.MergeQueue) > 0
	for _, rule := range rules.PullRequest {
		p.Approvals = max(p.Approvals, rule.Parameters.RequiredApprovingReviewCount)
		p.CodeOwners = p.CodeOwners || rule.Parameters.RequireCodeOwnerReview
	}
	for _, rule := range rules.RequiredStatusChecks {
		for _, check := range rule.Parameters.RequiredStatusChecks {
			p.Checks = append(p.Checks, check.Context)
		}
	}
	return p, nil
}

// union returns what either of two protections requires.
func union(a, b forge.Protection) forge.Protection {
	p := forge.Protection{
		PullRequestsOnly: a.PullRequestsOnly || b.PullRequestsOnly, Approvals: max(a.Approvals, b.Approvals), CodeOwners: a.CodeOwners || b.CodeOwners,
	}
	if checks := slices.Concat(a.Checks, b.Checks); len(checks) > 0 {
		p.Checks = slices.Compact(slices.Sorted(slices.Values(checks)))
	}
	return p
}

func (r *Repository) classicProtection(ctx context.Context, branch string) (forge.Protection, error) {
	p, answer, err := r.forge.client.Repositories.GetBranchProtection(readProtection.on(ctx), r.owner, r.name, branch)
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
	if !p.Protected() {
		answer, err := r.forge.client.Repositories.RemoveBranchProtection(removeProtection.on(ctx), r.owner, r.name, branch)
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
	_, answer, err := r.forge.client.Repositories.UpdateBranchProtection(setProtection.on(ctx), r.owner, r.name, branch, request)
	return r.explain(setProtection, answer, err)
}
