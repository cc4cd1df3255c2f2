package github

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// status is the status of a commit.
type status struct {
	Context     string    `json:"context"`
	State       string    `json:"state"`
	Description string    `json:"description"`
	TargetURL   string    `json:"target_url,omitempty"`
	UpdatedAt   time.Time `json:"updated_at,omitzero"`
}

// SetStatus posts a status for a commit. Posting twice has no effect, so the request is retried.
func (r *Repository) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	return r.Do(ctx, setStatus.write(http.MethodPost, rest.Path("statuses", commit), status{
		Context: s.Context, State: string(s.State), Description: forge.OneLine(s.Description, r.forge.Limits().StatusDescription), TargetURL: s.URL,
	}, nil))
}

// Statuses reads the latest status of each context: GitHub's combined status.
func (r *Repository) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	q := readStatuses.read(rest.Path("commits", commit, "status"), nil)
	q.Element = "statuses"
	statuses, err := rest.Select(ctx, &r.Repository, q, statusOf, nil, 0)
	return sorted(statuses), err
}

func statusOf(s status) forge.Status {
	return forge.Status{Context: s.Context, State: forge.StatusState(s.State), Description: s.Description, URL: s.TargetURL, Time: s.UpdatedAt}
}

func sorted(statuses []forge.Status) []forge.Status {
	slices.SortStableFunc(statuses, func(a, b forge.Status) int { return strings.Compare(a.Context, b.Context) })
	return statuses
}
