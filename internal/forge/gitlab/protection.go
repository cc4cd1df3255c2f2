package gitlab

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// AllChecks is the check that Protection returns if the project requires pipelines to succeed.
const AllChecks = "*"

// The access levels used in protection.
const (
	noAccess    = 0
	developers  = 30
	maintainers = 40
)

// protectedBranch is a branch's own protection. The zero value is an unprotected branch.
type protectedBranch struct {
	Name       string   `json:"name"`
	Push       []access `json:"push_access_levels"`
	Merge      []access `json:"merge_access_levels"`
	CodeOwners bool     `json:"code_owner_approval_required"`
}

// access is who can do something: a role, or an account or group, which has no level.
type access struct {
	Level *int `json:"access_level"`
}

// pullRequestsOnly reports whether pushing is forbidden for all.
func (p protectedBranch) pullRequestsOnly() bool {
	for _, push := range p.Push {
		if push.Level == nil || *push.Level != noAccess {
			return false
		}
	}
	return p.Name != ""
}

// merger returns the role that can merge. It defaults to the role that can open merge requests.
func (p protectedBranch) merger() int {
	for _, merge := range p.Merge {
		if merge.Level != nil {
			return *merge.Level
		}
	}
	return developers
}

// approvalRule is a number of required approvals. The type any_approver accepts approvals by any user.
type approvalRule struct {
	ID        int    `json:"id"`
	Type      string `json:"rule_type"`
	Approvals int    `json:"approvals_required"`
	Branches  []struct {
		Name string `json:"name"`
	} `json:"protected_branches"`
}

// Protection reads the requirements of a branch and its project.
func (r *Repository) Protection(ctx context.Context, branch string) (forge.Protection, error) {
	p, err := r.protectedBranch(ctx, branch)
	if err != nil {
		return forge.Protection{}, err
	}
	rules, err := r.approvalRules(ctx)
	if err != nil {
		return forge.Protection{}, err
	}
	must, err := r.pipelinesMustSucceed(ctx)
	if err != nil {
		return forge.Protection{}, err
	}
	required := forge.Protection{PullRequestsOnly: p.pullRequestsOnly(), CodeOwners: p.CodeOwners}
	for _, rule := range rules {
		if rule.applies(branch) {
			required.Approvals = max(required.Approvals, rule.Approvals)
		}
	}
	if must {
		required.Checks = []string{AllChecks}
	}
	return required, nil
}

// applies reports whether a rule applies to a branch. A rule without branches applies to all.
func (a approvalRule) applies(branch string) bool {
	for _, b := range a.Branches {
		if b.Name == branch {
			return true
		}
	}
	return len(a.Branches) == 0
}

// Protect makes a branch require what p says. Project settings are made stricter if necessary.
func (r *Repository) Protect(ctx context.Context, branch string, p forge.Protection) error {
	if err := r.protectBranch(ctx, branch, p); err != nil {
		return err
	}
	if err := r.requireApprovals(ctx, p.Approvals); err != nil {
		return err
	}
	if len(p.Checks) == 0 {
		return nil
	}
	if must, err := r.pipelinesMustSucceed(ctx); err != nil || must {
		return err
	}
	return r.Do(ctx, rest.Request{
		Op: "require pipelines", Right: maintainer, Method: http.MethodPut, Path: "",
		In: map[string]any{"only_allow_merge_if_pipeline_succeeds": true},
	})
}

func (r *Repository) protectedBranch(ctx context.Context, branch string) (protectedBranch, error) {
	var p protectedBranch
	return p, r.Do(ctx, rest.Request{
		Op: "read protection", Right: maintainer, Path: rest.Path("protected_branches", branch), Out: &p, MissingOK: true,
	})
}

// protectBranch sets the branch's own protection. Not every tier can edit who can push, so a protection that differs
// is deleted and created again; in between, the branch is unprotected.
// A protection that restricts pushing to some roles, GitLab's default for default branches, is left alone.
func (r *Repository) protectBranch(ctx context.Context, branch string, p forge.Protection) error {
	now, err := r.protectedBranch(ctx, branch)
	if err != nil || (now.pullRequestsOnly() == p.PullRequestsOnly && now.CodeOwners == p.CodeOwners) {
		return err
	}
	if now.Name != "" {
		err := r.Do(ctx, rest.Request{
			Op: "remove protection", Right: maintainer, Method: http.MethodDelete, Path: rest.Path("protected_branches", branch),
			MissingOK: true,
		})
		if err != nil {
			return err
		}
	}
	if !p.PullRequestsOnly && !p.CodeOwners {
		return nil
	}
	return r.createProtection(ctx, branch, p, now.merger())
}

func (r *Repository) createProtection(ctx context.Context, branch string, p forge.Protection, merger int) error {
	push := maintainers
	if p.PullRequestsOnly {
		push = noAccess
	}
	var after protectedBranch
	err := r.Do(ctx, rest.Request{
		Op: "set protection", Right: maintainer, Method: http.MethodPost, Path: "/protected_branches", Out: &after,
		In: map[string]any{
			"name": branch, "push_access_level": push, "merge_access_level": merger, "allow_force_push": false,
			"code_owner_approval_required": p.CodeOwners,
		},
	})
	if err != nil {
		return err
	}
	// A tier without code owners accepts the setting but ignores it.
	if p.CodeOwners && !after.CodeOwners {
		return r.needsPremium("the approval of code owners")
	}
	return nil
}

// approvalRules reads the project's approval rules. A tier without them returns none.
func (r *Repository) approvalRules(ctx context.Context) ([]approvalRule, error) {
	return rest.All[approvalRule](ctx, &r.Repository, rest.Request{Op: "read approval rules", Path: "/approval_rules", MissingOK: true})
}

// requireApprovals raises the number of required approvals by any user.
func (r *Repository) requireApprovals(ctx context.Context, approvals int) error {
	if approvals == 0 {
		return nil
	}
	rules, err := r.approvalRules(ctx)
	if err != nil {
		return err
	}
	request := rest.Request{
		Op: "require approvals", Right: maintainer, Method: http.MethodPost, Path: "/approval_rules",
		In: map[string]any{"name": "All Members", "rule_type": "any_approver", "approvals_required": approvals},
	}
	if i := slices.IndexFunc(rules, func(a approvalRule) bool { return a.Type == "any_approver" && len(a.Branches) == 0 }); i >= 0 {
		if rules[i].Approvals >= approvals {
			return nil
		}
		request.Method, request.Path = http.MethodPut, rest.Path("approval_rules", rules[i].ID)
		request.In = map[string]any{"approvals_required": approvals}
	}
	err = r.Do(ctx, request)
	if errors.Is(err, forge.ErrNotFound) {
		return r.needsPremium("required approvals")
	}
	return err
}

func (r *Repository) needsPremium(what string) error {
	e := r.Fail(forge.ErrInvalid, "set protection", what+" needs GitLab Premium or Ultimate")
	e.Hint = "leave it out of the protection, or change the tier"
	return e
}

func (r *Repository) pipelinesMustSucceed(ctx context.Context) (bool, error) {
	var project struct {
		Must bool `json:"only_allow_merge_if_pipeline_succeeds"`
	}
	err := r.Do(ctx, rest.Request{Op: "read project", Out: &project})
	return project.Must, err
}
