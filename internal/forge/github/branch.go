package github

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// headPath returns the path of a branch below root. Its slashes are not escaped, unlike in other paths.
func headPath(root, branch string) string {
	path := root + "/heads"
	for part := range strings.SplitSeq(branch, "/") {
		path += rest.Path(part)
	}
	return path
}

// CreateBranch creates a branch at a commit.
func (r *Repository) CreateBranch(ctx context.Context, branch, commit string) error {
	in := map[string]string{"ref": "refs/heads/" + branch, "sha": commit}
	return forge.IgnoreSame(r.Do(ctx, createBranch.write(http.MethodPost, "/git/refs", in, nil)), commit, func() (string, error) {
		var existing struct {
			Object struct {
				SHA string `json:"sha"`
			} `json:"object"`
		}
		err := r.Do(ctx, readBranch.read(headPath("/git/ref", branch), &existing))
		return existing.Object.SHA, err
	})
}

// DeleteBranch deletes a branch. GitHub answers 422 if it does not exist.
func (r *Repository) DeleteBranch(ctx context.Context, branch string) error {
	err := r.Do(ctx, deleteBranch.remove(headPath("/git/refs", branch)))
	if says(err, http.StatusUnprocessableEntity, "does not exist") {
		return nil
	}
	return err
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

// rule is a rule of a ruleset. Its parameters are those of the types that matter here.
type rule struct {
	Type       string `json:"type"`
	Parameters struct {
		Approvals  int  `json:"required_approving_review_count"`
		CodeOwners bool `json:"require_code_owner_review"`
		Checks     []struct {
			Context string `json:"context"`
		} `json:"required_status_checks"`
	} `json:"parameters"`
}

// rules returns what the rulesets of a branch require. GitHub Enterprise Server before 3.11 has none.
func (r *Repository) rules(ctx context.Context, branch string) (forge.Protection, error) {
	var p forge.Protection
	rules, err := rest.All[rule](ctx, &r.Repository, readRules.read(rest.Path("rules", "branches", branch), nil))
	if err != nil {
		return p, forge.Ignore(forge.Ignore(err, forge.ErrNotFound), forge.ErrDenied)
	}
	for _, one := range rules {
		switch one.Type {
		case "pull_request":
			p.PullRequestsOnly = true
			p.Approvals = max(p.Approvals, one.Parameters.Approvals)
			p.CodeOwners = p.CodeOwners || one.Parameters.CodeOwners
		case "update", "merge_queue":
			p.PullRequestsOnly = true
		case "required_status_checks":
			for _, check := range one.Parameters.Checks {
				p.Checks = append(p.Checks, check.Context)
			}
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

// unprotected is what GitHub says about a branch without protection.
const unprotected = "Branch not protected"

// requiredReviews are the reviews that a branch requires.
type requiredReviews struct {
	DismissStale bool `json:"dismiss_stale_reviews"`
	CodeOwners   bool `json:"require_code_owner_reviews"`
	Approvals    int  `json:"required_approving_review_count"`
}

// requiredChecks are the checks that a branch requires.
type requiredChecks struct {
	Strict   bool     `json:"strict"`
	Contexts []string `json:"contexts"`
}

// protection is the protection of a branch, of which GitHub wants all fields.
type protection struct {
	Checks        *requiredChecks  `json:"required_status_checks"`
	Reviews       *requiredReviews `json:"required_pull_request_reviews"`
	EnforceAdmins bool             `json:"enforce_admins"`
	Restrictions  *struct{}        `json:"restrictions"`
}

func (r *Repository) classicProtection(ctx context.Context, branch string) (result forge.Protection, err error) {
	var p struct {
		Checks  *requiredChecks  `json:"required_status_checks"`
		Reviews *requiredReviews `json:"required_pull_request_reviews"`
	}
	err = r.Do(ctx, readProtection.read(rest.Path("branches", branch, "protection"), &p))
	if err != nil {
		if says(err, http.StatusNotFound, unprotected) {
			return result, nil
		}
		return result, err
	}
	if p.Reviews != nil {
		result.PullRequestsOnly = true
		result.Approvals, result.CodeOwners = p.Reviews.Approvals, p.Reviews.CodeOwners
	}
	if p.Checks != nil && len(p.Checks.Contexts) > 0 {
		result.Checks = slices.Sorted(slices.Values(p.Checks.Contexts))
	}
	return result, nil
}

// Protect sets a branch's requirements. Administrators can bypass them, which is GitHub's default.
func (r *Repository) Protect(ctx context.Context, branch string, p forge.Protection) error {
	path := rest.Path("branches", branch, "protection")
	if !p.Protected() {
		err := r.Do(ctx, removeProtection.remove(path))
		if says(err, http.StatusNotFound, unprotected) {
			return nil
		}
		return err
	}
	var in protection
	if len(p.Checks) > 0 {
		in.Checks = &requiredChecks{Contexts: p.Checks}
	}
	if p.PullRequestsOnly || p.Approvals > 0 || p.CodeOwners {
		in.Reviews = &requiredReviews{CodeOwners: p.CodeOwners, Approvals: p.Approvals}
	}
	return r.Do(ctx, setProtection.write(http.MethodPut, path, in, nil))
}
