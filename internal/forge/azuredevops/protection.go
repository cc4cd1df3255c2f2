package azuredevops

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// The types of policies. Their ids are the same on all servers.
const (
	reviewersPolicy     = "fa4e907d-c16b-4a4c-9dfa-4906e5d171dd"
	statusPolicy        = "cbdc66da-9728-4af8-aada-9a5a32e4a226"
	mergeStrategyPolicy = "fa4e907d-c16b-4a4c-9dfa-4916e5d171ab"
)

// policy is a branch policy. A blocking policy also forbids pushing.
type policy struct {
	ID       int        `json:"id,omitempty"`
	Enabled  bool       `json:"isEnabled"`
	Blocking bool       `json:"isBlocking"`
	Type     policyType `json:"type"`
	Settings settings   `json:"settings"`
}

type policyType struct {
	ID string `json:"id"`
}

// settings are the settings of all policy types that the adapter knows.
type settings struct {
	Scope []scope `json:"scope"`

	// For reviewers.
	Approvals     int  `json:"minimumApproverCount,omitempty"`
	ResetOnPush   bool `json:"resetOnSourcePush,omitempty"`
	CreatorCounts bool `json:"creatorVoteCounts,omitempty"`

	// For statuses.
	Genre        string `json:"statusGenre,omitempty"`
	Name         string `json:"statusName,omitempty"`
	ForEveryPush bool   `json:"invalidateOnSourceUpdate,omitempty"`

	// For merge strategies. All of them together restrict nothing, but still forbid pushing.
	Squash        bool `json:"allowSquash,omitempty"`
	NoFastForward bool `json:"allowNoFastForward,omitempty"`
	Rebase        bool `json:"allowRebase,omitempty"`
	RebaseMerge   bool `json:"allowRebaseMerge,omitempty"`
}

// scope is where a policy applies.
type scope struct {
	Repository string `json:"repositoryId"`
	Ref        string `json:"refName"`
	Match      string `json:"matchKind"`
}

// Protection reads a branch's requirements, including those of its folder and of the whole project.
func (r *Repository) Protection(ctx context.Context, branch string) (forge.Protection, error) {
	ids, err := r.ids(ctx)
	if err != nil {
		return forge.Protection{}, err
	}
	policies, err := r.policies(ctx, ids, branch)
	if err != nil {
		return forge.Protection{}, err
	}
	required := forge.Protection{PullRequestsOnly: len(policies) > 0}
	for _, p := range policies {
		switch p.Type.ID {
		case reviewersPolicy:
			required.Approvals = max(required.Approvals, p.Settings.Approvals)
		case statusPolicy:
			required.Checks = append(required.Checks, statusContext{p.Settings.Genre, p.Settings.Name}.String())
		}
	}
	slices.Sort(required.Checks)
	required.Checks = slices.Compact(required.Checks)
	return required, nil
}

// Protect changes the branch's own policies to require what p says. It keeps policies of other scopes and types.
// It adds missing policies before it removes others, so that the branch is never unprotected in between.
func (r *Repository) Protect(ctx context.Context, branch string, p forge.Protection) error {
	if p.CodeOwners {
		e := r.Fail(forge.ErrInvalid, "set protection", "Azure DevOps does not support code owners")
		e.Hint = "leave them out of the protection, and add required reviewers by hand"
		return e
	}
	ids, err := r.ids(ctx)
	if err != nil {
		return err
	}
	policies, err := r.policies(ctx, ids, branch)
	if err != nil {
		return err
	}
	here := scope{ids.Repository, heads + branch, "exact"}
	surplus := slices.DeleteFunc(policies, func(p policy) bool {
		return !slices.Equal(p.Settings.Scope, []scope{here}) || !p.ours()
	})
	for _, want := range wanted(p, here) {
		if i := slices.IndexFunc(surplus, want.sameRequirement); i >= 0 {
			surplus = slices.Delete(surplus, i, i+1)
			continue
		}
		err := r.Do(ctx, rest.Request{
			Op: "set protection", Right: codeFull, Method: http.MethodPost, Path: "/policy/configurations", In: want,
		})
		if err != nil {
			return err
		}
	}
	for _, s := range surplus {
		err := r.Do(ctx, rest.Request{
			Op: "remove protection", Right: codeFull, Method: http.MethodDelete, Path: rest.Path("policy", "configurations", s.ID),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// wanted returns the policies for a protection.
func wanted(p forge.Protection, here scope) []policy {
	var all []policy
	add := func(kind string, s settings) {
		s.Scope = []scope{here}
		all = append(all, policy{Enabled: true, Blocking: true, Type: policyType{kind}, Settings: s})
	}
	if p.PullRequestsOnly {
		add(mergeStrategyPolicy, settings{Squash: true, NoFastForward: true, Rebase: true, RebaseMerge: true})
	}
	if p.Approvals > 0 {
		add(reviewersPolicy, settings{Approvals: p.Approvals, ResetOnPush: true})
	}
	for _, check := range p.Checks {
		c := contextOf(check)
		add(statusPolicy, settings{Genre: c.Genre, Name: c.Name, ForEveryPush: true})
	}
	return all
}

// ours reports whether a protection consists of policies of this type. A choice of merge strategies is not part of it.
func (p policy) ours() bool {
	s := p.Settings
	return p.Type.ID == reviewersPolicy || p.Type.ID == statusPolicy ||
		(p.Type.ID == mergeStrategyPolicy && s.Squash && s.NoFastForward && s.Rebase && s.RebaseMerge)
}

// sameRequirement reports whether another policy of the same branch has the same requirement.
func (p policy) sameRequirement(other policy) bool {
	return p.Type == other.Type && p.Settings.Approvals == other.Settings.Approvals &&
		p.Settings.Genre == other.Settings.Genre && p.Settings.Name == other.Settings.Name
}

// policies reads the policies that block a branch.
func (r *Repository) policies(ctx context.Context, ids ids, branch string) ([]policy, error) {
	all, err := rest.All[policy](ctx, &r.Repository, rest.Request{
		Op: "read protection", Path: "/git/policy/configurations", Element: "value",
		Query: url.Values{"repositoryId": {ids.Repository}, "refName": {heads + branch}},
		Next: func(h http.Header, query url.Values, _ int) bool {
			next, last := strings.TrimSpace(h.Get("X-Ms-Continuationtoken")), query.Get("continuationToken")
			query.Set("continuationToken", next)
			return next != "" && next != last
		},
	})
	for _, p := range all {
		for i := range p.Settings.Scope {
			s := &p.Settings.Scope[i]
			s.Match = strings.ToLower(s.Match) // the web interface writes "Exact"
		}
	}
	return slices.DeleteFunc(all, func(p policy) bool { return !p.Enabled || !p.Blocking }), err
}

// ids identifies a repository and its project in policies and subscriptions.
type ids struct{ Repository, Project string }

func (r *Repository) ids(ctx context.Context) (ids, error) {
	var repository struct {
		ID      string `json:"id"`
		Project struct {
			ID string `json:"id"`
		} `json:"project"`
	}
	err := r.do(ctx, rest.Request{Op: "read repository", Out: &repository})
	return ids{repository.ID, repository.Project.ID}, err
}
