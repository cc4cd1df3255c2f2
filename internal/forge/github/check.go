package github

import (
	"context"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Checks reads statuses and check runs. GitHub Actions and most apps report check runs.
func (r *Repository) Checks(ctx context.Context, commit string) ([]forge.Status, error) {
	statuses, err := r.Statuses(ctx, commit)
	if err != nil {
		return nil, err
	}
	owner, name := r.names()
	err = pages(ctx, r, readChecks, func(ctx context.Context, at github.ListOptions) ([]*github.CheckRun, *github.Response, error) {
		runs, answer, err := r.forge.client.Checks.ListCheckRunsForRef(ctx, owner, name, commit, &github.ListCheckRunsOptions{
			Filter: new("latest"), ListOptions: at,
		})
		if runs == nil || err != nil {
			return nil, answer, err
		}
		return runs.CheckRuns, answer, nil
	}, func(run *github.CheckRun) bool {
		statuses = append(statuses, forge.Status{
			Context: run.GetName(), State: stateOfRun(run), Description: run.GetOutput().GetTitle(), URL: run.GetDetailsURL(),
			Time: run.GetCompletedAt().Time,
		})
		return true
	})
	sortStatuses(statuses)
	return statuses, err
}

// stateOfRun returns the state of a check run: unfinished runs are pending, and unsuccessful ones block.
func stateOfRun(run *github.CheckRun) forge.StatusState {
	if run.GetStatus() != "completed" {
		return forge.Pending
	}
	switch run.GetConclusion() {
	case "success", "neutral", "skipped":
		return forge.Success
	case "cancelled", "stale", "timed_out":
		return forge.Errored
	}
	return forge.Failure
}
