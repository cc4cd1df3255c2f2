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
	err := r.do(ctx, rest.Request{
		Op: "create branch", Method: http.MethodPost, Path: "/branches",
		In: map[string]any{"new_branch_name": name, "old_ref_name": commit},
	})
	if !errors.Is(err, forge.ErrConflict) {
		return err
	}
	var existing struct {
		Commit struct {
			ID string `json:"id"`
		} `json:"commit"`
	}
	readErr := r.do(ctx, rest.Request{Op: "read branch", Path: "/branches" + rest.Path(name), Out: &existing})
	if readErr == nil && existing.Commit.ID == commit {
		return nil
	}
	return err
}

// DeleteBranch deletes a branch.
func (r *Repository) DeleteBranch(ctx context.Context, name string) error {
	err := r.do(ctx, rest.Request{Op: "delete branch", Method: http.MethodDelete, Path: "/branches" + rest.Path(name)})
	if errors.Is(err, forge.ErrNotFound) {
		return nil
	}
	return err
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
	var p protection
	err := r.do(ctx, rest.Request{Op: "read protection", Path: "/branch_protections" + rest.Path(branch), Out: &p})
	if errors.Is(err, forge.ErrNotFound) {
		return forge.Protection{}, nil
	}
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
	path := "/branch_protections" + rest.Path(branch)
	if !p.Protected() {
		err := r.do(ctx, rest.Request{Op: "remove protection", Method: http.MethodDelete, Path: path})
		if errors.Is(err, forge.ErrNotFound) {
			return nil
		}
		return err
	}
	rule := protection{
		EnablePush: !p.PullRequestsOnly, RequiredApprovals: p.Approvals, BlockOnReviews: p.CodeOwners,
		EnableStatusCheck: len(p.Checks) > 0, Contexts: slices.Concat([]string{}, p.Checks),
	}
	err := r.do(ctx, rest.Request{Op: "set protection", Method: http.MethodPatch, Path: path, In: rule})
	if errors.Is(err, forge.ErrNotFound) {
		rule.RuleName = branch
		return r.do(ctx, rest.Request{Op: "set protection", Method: http.MethodPost, Path: "/branch_protections", In: rule})
	}
	return err
}
