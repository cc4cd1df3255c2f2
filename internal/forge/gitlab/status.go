package gitlab

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

type status struct {
	Name        string    `json:"name"`
	Status      string    `json:"status"`
	Description string    `json:"description"`
	TargetURL   string    `json:"target_url"`
	CreatedAt   time.Time `json:"created_at"`
	// MayFail means that the pipeline can succeed without this job.
	MayFail bool `json:"allow_failure"`
}

func (s status) status() forge.Status {
	return forge.Status{Context: s.Name, State: s.state(), Description: s.Description, URL: s.TargetURL, Time: s.CreatedAt}
}

// stateNames maps states to GitLab's. A state that could not be determined is canceled, which blocks as well.
var stateNames = map[forge.StatusState]string{
	forge.Pending: "pending", forge.Success: "success", forge.Failure: "failed", forge.Errored: "canceled",
}

// state maps a state to one that all forges have. All unfinished ones are pending.
// A skipped status blocks nothing, nor does a job that may fail and has failed or waits for a user.
func (s status) state() forge.StatusState {
	switch {
	case s.Status == "success", s.Status == "skipped",
		s.MayFail && (s.Status == "failed" || s.Status == "canceled" || s.Status == "manual"):
		return forge.Success
	case s.Status == "failed":
		return forge.Failure
	case s.Status == "canceled":
		return forge.Errored
	}
	return forge.Pending
}

// SetStatus posts a status for a commit. Posting twice has no effect, so the request is retried.
//
// GitLab treats each state as a transition, and refuses one to the current state, even with a new description.
// Pending and running mean the same to us, so one follows the other.
// If no transition is left, at least the state is as requested.
func (r *Repository) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	err := r.setStatus(ctx, commit, stateNames[s.State], s)
	if s.State == forge.Pending && unchanged(err) {
		err = r.setStatus(ctx, commit, "running", s)
	}
	if unchanged(err) {
		return nil
	}
	return err
}

// maxTargetURL is the longest address that GitLab stores with a status. A longer one would fail the whole status, and cut it leads nowhere.
const maxTargetURL = 255

func (r *Repository) setStatus(ctx context.Context, commit, state string, s forge.Status) error {
	in := map[string]any{
		"name": s.Context, "state": state, "description": forge.OneLine(s.Description, r.forge.Limits().StatusDescription),
	}
	if s.URL != "" && len(s.URL) <= maxTargetURL {
		in["target_url"] = s.URL
	}
	if err := r.place(ctx, commit, in); err != nil {
		return err
	}
	err := r.Do(ctx, rest.Request{
		Op: "set status", Right: "the scope api, the role Developer, and where the branch is protected, the right to push or merge to it",
		Method: http.MethodPost, Path: rest.Path("statuses", commit), Repeatable: true, In: in,
	})
	return r.archived(ctx, err)
}

// place adds the pipeline of CI that a status belongs to. Without it, GitLab chooses among the pipelines and branches of the commit,
// and a new pipeline with only our status can hide that of CI. Without a pipeline, the branch of the merge request decides.
func (r *Repository) place(ctx context.Context, commit string, in map[string]any) error {
	pipelines, err := r.pipelines(ctx, commit)
	if err != nil {
		return err
	}
	if len(pipelines) > 0 {
		newest := slices.MaxFunc(pipelines, func(a, b pipeline) int { return a.ID - b.ID })
		in["pipeline_id"], in["ref"] = newest.ID, newest.Ref
		return nil
	}
	var found []mergeRequest
	err = r.Do(ctx, rest.Request{
		Op: "find pull requests", Path: rest.Path("repository", "commits", commit, "merge_requests"), Query: url.Values{"state": {"opened"}},
		Out: &found, MissingOK: true,
	})
	for _, m := range found {
		// Older servers ignore the state in the query.
		if m.State == "opened" && m.SHA == commit && m.SourceProject != nil && *m.SourceProject == m.TargetProject {
			in["ref"] = m.SourceBranch
		}
	}
	return err
}

// unchanged reports whether a status already had the state: "Cannot transition status via :run from :running".
// From any other state, that is a real refusal.
func unchanged(err error) bool {
	var e *forge.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest {
		return false
	}
	for _, step := range []string{":enqueue from :pending", ":enqueue from :running", ":run from :running"} {
		if strings.Contains(e.Detail, "Cannot transition status via "+step) {
			return true
		}
	}
	return false
}

// Statuses reads the latest status of each context. They include pipeline jobs.
func (r *Repository) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	request := rest.Request{Op: "read statuses", Path: rest.Path("repository", "commits", commit, "statuses")}
	statuses, err := rest.Select(ctx, &r.Repository, request, status.status, nil, 0)
	return forge.LatestStatuses(statuses), err
}
