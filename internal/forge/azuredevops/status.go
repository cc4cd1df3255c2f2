package azuredevops

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

type status struct {
	State       string        `json:"state"`
	Description string        `json:"description"`
	TargetURL   string        `json:"targetUrl,omitempty"`
	Context     statusContext `json:"context"`
	CreatedAt   *time.Time    `json:"creationDate,omitempty"`
}

func (s status) status() forge.Status {
	result := forge.Status{Context: s.Context.String(), State: stateOf(s.State), Description: s.Description, URL: s.TargetURL}
	if s.CreatedAt != nil {
		result.Time = *s.CreatedAt
	}
	return result
}

// statusContext is the name of a status, "genre/name".
type statusContext struct {
	Genre string `json:"genre,omitempty"`
	Name  string `json:"name"`
}

func contextOf(name string) statusContext {
	if i := strings.LastIndexByte(name, '/'); i > 0 && i < len(name)-1 {
		return statusContext{name[:i], name[i+1:]}
	}
	return statusContext{"", name}
}

// String returns the context as pages show it.
func (c statusContext) String() string {
	if c.Genre == "" {
		return c.Name
	}
	return c.Genre + "/" + c.Name
}

// stateNames maps states to those of Azure DevOps.
var stateNames = map[forge.StatusState]string{
	forge.Pending: "pending", forge.Success: "succeeded", forge.Failure: "failed", forge.Errored: "error",
}

// stateOf maps a state to one that all forges have. "Not applicable" blocks nothing.
func stateOf(state string) forge.StatusState {
	switch state {
	case "succeeded", "notApplicable":
		return forge.Success
	case "failed":
		return forge.Failure
	case "error":
		return forge.Errored
	}
	return forge.Pending
}

// SetStatus posts a status for a commit. Policies check pull requests, so it is first posted on those with this head.
// If that fails, it is not posted on the commit either.
func (r *Repository) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	open, err := rest.All[pullRequest](ctx, &r.Repository, r.paged(rest.Request{
		Op: "find pull requests", Path: "/pullrequests", Query: url.Values{"searchCriteria.status": {active}},
	}, "$"))
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(p pullRequest) bool { return p.Head.ID != commit })
	for _, p := range open {
		if err := r.repeat(ctx, p, s); err != nil {
			return err
		}
	}
	return r.post(ctx, rest.Path("commits", commit, "statuses"), s)
}

// inform repeats a commit's earlier statuses on a new pull request.
// The forge may not know the head of a new pull request yet; merging repeats them again.
func (r *Repository) inform(ctx context.Context, p pullRequest) error {
	if p.Head.ID == "" {
		return nil
	}
	all, err := r.Statuses(ctx, p.Head.ID)
	if err != nil || len(all) == 0 {
		return err
	}
	return r.repeat(ctx, p, all...)
}

// repeat posts the head's statuses on a pull request, for the iteration with that head.
func (r *Repository) repeat(ctx context.Context, p pullRequest, all ...forge.Status) error {
	iterations, err := r.iterations(ctx, p.Number)
	if err != nil {
		return err
	}
	for _, i := range slices.Backward(iterations) {
		if i.Head.ID != p.Head.ID {
			continue
		}
		for _, s := range all {
			if err := r.post(ctx, pull(p.Number, "iterations", i.ID, "statuses"), s); err != nil {
				return err
			}
		}
		return nil
	}
	return r.Fail(forge.ErrConflict, "set status", "the forge does not know the pull request's head yet")
}

// post posts a status. Posting twice has no effect, so the request is retried.
func (r *Repository) post(ctx context.Context, path string, s forge.Status) error {
	return r.do(ctx, rest.Request{
		Op: "set status", Right: codeStatus, Method: http.MethodPost, Path: path, Repeatable: true,
		In: status{
			State: stateNames[s.State], TargetURL: s.URL, Context: contextOf(s.Context),
			Description: forge.OneLine(s.Description, r.forge.Limits().StatusDescription),
		},
	})
}

// Statuses reads the latest status of each context.
func (r *Repository) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	request := rest.Request{Op: "read statuses", Path: rest.Path("commits", commit, "statuses"), Query: url.Values{"latestOnly": {"true"}}}
	all, err := rest.Select(ctx, &r.Repository, r.paged(request, ""), status.status, nil, 0)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b forge.Status) int { return a.Time.Compare(b.Time) })
	return forge.LatestStatuses(all), nil
}
