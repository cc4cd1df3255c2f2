package gitea

import (
	"context"
	"net/http"
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

func (s status) status() forge.Status {
	return forge.Status{Context: s.Context, State: stateOf(s.State), Description: s.Description, URL: s.TargetURL, Time: s.UpdatedAt}
}

// SetStatus posts a status for a commit. Posting twice has no effect, so the request is retried.
func (r *Repository) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	return r.Do(ctx, rest.Request{
		Op: "set status", Method: http.MethodPost, Path: rest.Path("statuses", commit), Repeatable: true,
		In: map[string]any{
			"context": s.Context, "state": string(s.State), "target_url": s.URL,
			"description": forge.OneLine(s.Description, r.forge.Limits().StatusDescription),
		},
	})
}

// Statuses reads the latest status of each context.
func (r *Repository) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	request := rest.Request{Op: "read statuses", Path: rest.Path("commits", commit, "status"), Element: "statuses"}
	statuses, err := rest.Select(ctx, &r.Repository, request, status.status, nil, 0)
	slices.SortFunc(statuses, func(a, b forge.Status) int { return strings.Compare(a.Context, b.Context) })
	return statuses, err
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
