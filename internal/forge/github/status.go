package github

import (
	"context"
	"slices"
	"strings"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// SetStatus posts a status for a commit. Posting twice has no effect, so the request is retried.
func (r *Repository) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	status := github.RepoStatus{
		Context: &s.Context, State: new(string(s.State)),
		Description: new(forge.OneLine(s.Description, r.forge.Limits().StatusDescription)),
	}
	if s.URL != "" {
		status.TargetURL = &s.URL
	}
	_, answer, err := r.forge.client.Repositories.CreateStatus(setStatus.on(ctx), r.owner, r.name, commit, status)
	return r.explain(setStatus, answer, err)
}

// Statuses reads the latest status of each context: GitHub's combined status.
func (r *Repository) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	list := r.forge.client.Repositories.ListCombinedStatusIter(readStatuses.on(ctx), r.owner, r.name, commit, new(perPage))
	statuses, err := collect(r, readStatuses, list, statusOf, nil, 0)
	return sorted(statuses), err
}

func statusOf(s *github.RepoStatus) forge.Status {
	return forge.Status{
		Context: s.GetContext(), State: forge.StatusState(s.GetState()), Description: s.GetDescription(), URL: s.GetTargetURL(),
		Time: s.GetUpdatedAt().Time,
	}
}

func sorted(statuses []forge.Status) []forge.Status {
	slices.SortStableFunc(statuses, func(a, b forge.Status) int { return strings.Compare(a.Context, b.Context) })
	return statuses
}
