package github

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// checkRun is a check of an app.
type checkRun struct {
	Name        string    `json:"name"`
	Status      string    `json:"status"`
	Conclusion  string    `json:"conclusion"`
	DetailsURL  string    `json:"details_url"`
	CompletedAt time.Time `json:"completed_at"`
	Output      struct {
		Title string `json:"title"`
	} `json:"output"`
}

// workflowRun is a run of a workflow of GitHub Actions.
type workflowRun struct {
	Name         string    `json:"name"`
	WorkflowID   int64     `json:"workflow_id"`
	Event        string    `json:"event"`
	Status       string    `json:"status"`
	Conclusion   string    `json:"conclusion"`
	DisplayTitle string    `json:"display_title"`
	HTMLURL      string    `json:"html_url"`
	UpdatedAt    time.Time `json:"updated_at"`
}

// Checks reads statuses and check runs. GitHub Actions and most apps report check runs. Fine-grained tokens of users cannot have
// the right to read them: then Checks reads the workflow runs of GitHub Actions.
func (r *Repository) Checks(ctx context.Context, commit string) ([]forge.Status, error) {
	statuses, err := r.Statuses(ctx, commit)
	if err != nil {
		return nil, err
	}
	q := readChecks.read(rest.Path("commits", commit, "check-runs"), nil)
	q.Element, q.Query = "check_runs", url.Values{"filter": {"latest"}}
	runs, err := rest.Select(ctx, &r.Repository, q, statusOfRun, nil, 0)
	if errors.Is(err, forge.ErrDenied) {
		runs, err = r.workflowRuns(ctx, commit)
	}
	return sorted(append(statuses, runs...)), err
}

// workflowRuns reads the last run of each workflow, for each event that started it: a run for a push says nothing about that for the
// pull request.
func (r *Repository) workflowRuns(ctx context.Context, commit string) ([]forge.Status, error) {
	q := readWorkflows.read("/actions/runs", nil)
	q.Element, q.Query = "workflow_runs", url.Values{"head_sha": {commit}}
	type started struct {
		workflow    int64
		name, event string
	}
	known := map[started]bool{}
	runs, err := rest.Select(ctx, &r.Repository, q, func(run workflowRun) workflowRun { return run }, func(run workflowRun) bool {
		by := started{run.WorkflowID, run.Name, run.Event}
		again := known[by] // the newest comes first
		known[by] = true
		return !again
	}, 0)
	var statuses []forge.Status
	for _, run := range runs {
		s := forge.Status{
			Context: run.Name, State: stateOf(run.Status, run.Conclusion), Description: run.DisplayTitle, URL: run.HTMLURL, Time: run.UpdatedAt,
		}
		if run.Event != "" {
			s.Context += " (" + run.Event + ")"
		}
		statuses = append(statuses, s)
	}
	return statuses, err
}

func statusOfRun(run checkRun) forge.Status {
	return forge.Status{
		Context: run.Name, State: stateOf(run.Status, run.Conclusion), Description: run.Output.Title, URL: run.DetailsURL, Time: run.CompletedAt,
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
