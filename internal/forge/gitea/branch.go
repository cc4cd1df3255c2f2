package gitea

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// CreateBranch creates a branch at a commit.
func (r *Repository) CreateBranch(ctx context.Context, name, commit string) error {
	return r.Repository.CreateBranch(ctx, rest.Request{
		Path: "/branches", In: map[string]any{"new_branch_name": name, "old_ref_name": commit},
	}, rest.Path("branches", name), commit)
}

// DeleteBranch deletes a branch.
func (r *Repository) DeleteBranch(ctx context.Context, name string) error {
	return r.Do(ctx, rest.Request{Op: "delete branch", Method: http.MethodDelete, Path: rest.Path("branches", name), MissingOK: true})
}

// protection is a rule for branches, named like the branch.
type protection struct {
	RuleName          string   `json:"rule_name,omitempty"`
	EnablePush        bool     `json:"enable_push"`
	RequiredApprovals int      `json:"required_approvals"`
	BlockOnReviews    bool     `json:"block_on_official_review_requests"`
	EnableStatusCheck bool     `json:"enable_status_check"`
	Contexts          []string `json:"status_check_contexts"`
}

// Protection reads the rule of a branch.
func (r *Repository) Protection(ctx context.Context, branch string) (forge.Protection, error) {
	p := protection{EnablePush: true}
	err := r.Do(ctx, rest.Request{Op: "read protection", Path: rest.Path("branch_protections", branch), Out: &p, MissingOK: true})
	if err != nil {
		return forge.Protection{}, err
	}
	result := forge.Protection{PullRequestsOnly: !p.EnablePush, Approvals: p.RequiredApprovals, CodeOwners: p.BlockOnReviews}
	if p.EnableStatusCheck && len(p.Contexts) > 0 {
		result.Checks = slices.Sorted(slices.Values(p.Contexts))
	}
	return result, nil
}

// Protect sets the rule of a branch, and keeps the rule's other settings.
func (r *Repository) Protect(ctx context.Context, branch string, p forge.Protection) error {
	path := rest.Path("branch_protections", branch)
	if !p.Protected() {
		return r.Do(ctx, rest.Request{Op: "remove protection", Method: http.MethodDelete, Path: path, MissingOK: true})
	}
	rule := protection{
		EnablePush: !p.PullRequestsOnly, RequiredApprovals: p.Approvals, BlockOnReviews: p.CodeOwners,
		EnableStatusCheck: len(p.Checks) > 0, Contexts: append([]string{}, p.Checks...), // null would keep the old ones
	}
	err := r.Do(ctx, rest.Request{Op: "set protection", Method: http.MethodPatch, Path: path, In: rule})
	if errors.Is(err, forge.ErrNotFound) {
		rule.RuleName = branch
		return r.Do(ctx, rest.Request{Op: "set protection", Method: http.MethodPost, Path: "/branch_protections", In: rule})
	}
	return err
}
