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
	owner, name := r.names()
	status := github.RepoStatus{
		Context: &s.Context, State: new(string(s.State)),
		Description: new(forge.OneLine(s.Description, r.forge.Limits().StatusDescription)),
	}
	if s.URL != "" {
		status.TargetURL = &s.URL
	}
	_, answer, err := r.forge.client.Repositories.CreateStatus(setStatus.on(ctx), owner, name, commit, status)
	return r.explain(setStatus, answer, err)
}

// Statuses reads the latest status of each context: GitHub's combined status.
func (r *Repository) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	owner, name := r.names()
	var statuses []forge.Status
	err := pages(ctx, r, readStatuses, func(ctx context.Context, at github.ListOptions) ([]*github.RepoStatus, *github.Response, error) {
		combined, answer, err := r.forge.client.Repositories.GetCombinedStatus(ctx, owner, name, commit, &at)
		if combined == nil || err != nil {
			return nil, answer, err
		}
		return combined.Statuses, answer, nil
	}, func(s *github.RepoStatus) bool {
		statuses = append(statuses, forge.Status{
			Context: s.GetContext(), State: forge.StatusState(s.GetState()), Description: s.GetDescription(), URL: s.GetTargetURL(),
			Time: s.GetUpdatedAt().Time,
		})
		return true
	})
	sortStatuses(statuses)
	return statuses, err
}

func sortStatuses(statuses []forge.Status) {
	slices.SortStableFunc(statuses, func(a, b forge.Status) int { return strings.Compare(a.Context, b.Context) })
}
