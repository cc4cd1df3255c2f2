package github

import (
	"context"
	"errors"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Checks reads statuses and check runs. GitHub Actions and most apps report check runs. Fine-grained tokens of users cannot have
// the right to read them: then Checks reads the workflow runs of GitHub Actions.
func (r *Repository) Checks(ctx context.Context, commit string) ([]forge.Status, error) {
	statuses, err := r.Statuses(ctx, commit)
	if err != nil {
		return nil, err
	}
	list := r.forge.client.Checks.ListCheckRunsForRefIter(readChecks.on(ctx), r.owner, r.name, commit, &github.ListCheckRunsOptions{
		Filter: new("latest"), ListOptions: perPage,
	})
	runs, err := collect(r, readChecks, list, statusOfRun, nil, 0)
	if errors.Is(err, forge.ErrDenied) {
		runs, err = r.workflowRuns(ctx, commit)
	}
	return sorted(append(statuses, runs...)), err
}

// workflowRuns reads the last run of each workflow.
func (r *Repository) workflowRuns(ctx context.Context, commit string) ([]forge.Status, error) {
	list := r.forge.client.Actions.ListRepositoryWorkflowRunsIter(readWorkflows.on(ctx), r.owner, r.name, &github.ListWorkflowRunsOptions{
		HeadSHA: commit, ListOptions: perPage,
	})
	known := map[string]bool{}
	return collect(r, readWorkflows, list, func(run *github.WorkflowRun) forge.Status {
		return forge.Status{
			Context: run.GetName(), State: stateOf(run.GetStatus(), run.GetConclusion()), Description: run.GetDisplayTitle(),
			URL: run.GetHTMLURL(), Time: run.GetUpdatedAt().Time,
		}
	}, func(s forge.Status) bool { // the newest comes first
		again := known[s.Context]
		known[s.Context] = true
		return !again
	}, 0)
}

func statusOfRun(run *github.CheckRun) forge.Status {
	return forge.Status{
		Context: run.GetName(), State: stateOf(run.GetStatus(), run.GetConclusion()), Description: run.GetOutput().GetTitle(), URL: run.GetDetailsURL(),
		Time: run.GetCompletedAt().Time,
	}
}

// stateOf returns the state of a run: unfinished runs are pending, and unsuccessful ones block.
func stateOf(status, conclusion string) forge.StatusState {
	if status != "completed" {
		return forge.Pending
	}
	switch conclusion {
	case "success", "neutral", "skipped":
		return forge.Success
	case "cancelled", "stale", "timed_out":
		return forge.Errored
	}
	return forge.Failure
}
