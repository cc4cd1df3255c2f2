package azuredevops

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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
	demanded := forge.Protection{PullRequestsOnly: len(policies) > 0}
	for _, p := range policies {
		switch p.Type.ID {
		case reviewersPolicy:
			demanded.Approvals = max(demanded.Approvals, p.Settings.Approvals)
		case statusPolicy:
			demanded.Checks = append(demanded.Checks, statusContext{p.Settings.Genre, p.Settings.Name}.String())
		}
	}
	slices.Sort(demanded.Checks)
	demanded.Checks = slices.Compact(demanded.Checks)
	return demanded, nil
}

// Protect changes the branch's own policies to require what p says. It keeps policies of other scopes and types.
// It adds missing policies before it removes others, so that the branch is never unprotected in between.
func (r *Repository) Protect(ctx context.Context, branch string, p forge.Protection) error {
	if p.CodeOwners {
		e := r.fail(forge.ErrInvalid, "set protection", "Azure DevOps knows no owners of code")
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
		if i := slices.IndexFunc(surplus, want.sameDemand); i >= 0 {
			surplus = slices.Delete(surplus, i, i+1)
			continue
		}
		err := r.inProject(ctx, rest.Request{
			Op: "set protection", Right: codeFull, Method: http.MethodPost, Path: "/policy/configurations", In: want,
		})
		if err != nil {
			return err
		}
	}
	for _, s := range surplus {
		err := r.inProject(ctx, rest.Request{
			Op: "remove protection", Right: codeFull, Method: http.MethodDelete, Path: "/policy/configurations" + rest.Path(strconv.Itoa(s.ID)),
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

// sameDemand reports whether another policy of the same branch has the same requirement.
func (p policy) sameDemand(other policy) bool {
	return p.Type == other.Type && p.Settings.Approvals == other.Settings.Approvals &&
		p.Settings.Genre == other.Settings.Genre && p.Settings.Name == other.Settings.Name
}

// policies reads the policies that block a branch.
func (r *Repository) policies(ctx context.Context, ids ids, branch string) ([]policy, error) {
	query := url.Values{"repositoryId": {ids.Repository}, "refName": {heads + branch}}
	var blocking []policy
	for {
		var page values[policy]
		header, err := r.forge.do(ctx, rest.Request{
			Op: "read protection", Where: r.id.String(), Right: codeRead, Query: query, Out: &page,
			Path: rest.Path(r.organization, r.project) + "/_apis/git/policy/configurations",
		})
		if err != nil {
			return nil, err
		}
		for _, p := range page.Value {
			if p.Enabled && p.Blocking {
				blocking = append(blocking, p)
			}
		}
		next := header.Get("X-Ms-Continuationtoken")
		if next == "" || next == query.Get("continuationToken") {
			return blocking, nil
		}
		query.Set("continuationToken", strings.TrimSpace(next))
	}
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
