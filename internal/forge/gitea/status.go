package gitea

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
	Context     string    `json:"context"`
	State       string    `json:"status"`
	Description string    `json:"description"`
	TargetURL   string    `json:"target_url"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// SetStatus posts a status for a commit. Posting twice has no effect, so the request is retried.
func (r *Repository) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	return r.do(ctx, rest.Request{
		Op: "set status", Method: http.MethodPost, Path: "/statuses" + rest.Path(commit), Repeatable: true,
		In: map[string]any{
			"context": s.Context, "state": string(s.State), "target_url": s.URL,
			"description": forge.OneLine(s.Description, r.forge.Limits().StatusDescription),
		},
	})
}

// Statuses reads the latest status of each context.
func (r *Repository) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	type combined struct {
		Statuses []status `json:"statuses"`
	}
	var statuses []forge.Status
	request := r.request(rest.Request{
		Op: "read statuses", Path: "/commits" + rest.Path(commit) + "/status", Query: url.Values{"limit": {pageSize}},
	})
	err := rest.PagesOf(ctx, &r.forge.client, request, func(c combined) []status { return c.Statuses }, func(s status) bool {
		statuses = append(statuses, forge.Status{
			Context: s.Context, State: stateOf(s.State), Description: s.Description, URL: s.TargetURL, Time: s.UpdatedAt,
		})
		return true
	})
	slices.SortFunc(statuses, func(a, b forge.Status) int { return strings.Compare(a.Context, b.Context) })
	return statuses, explain(err)
}

// stateOf maps Gitea's states to those that all forges have. A warning blocks a merge.
func stateOf(state string) forge.StatusState {
	switch state {
	case "warning":
		return forge.Failure
	case "skipped":
		return forge.Success
	}
	return forge.StatusState(state)
}
