package gitlab

import (
	"context"
	"errors"
	"net/http"
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

// said maps states to GitLab's. A state that could not be determined is canceled, which blocks as well.
var said = map[forge.StatusState]string{
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
	err := r.setStatus(ctx, commit, said[s.State], s)
	if s.State == forge.Pending && standsStill(err) {
		err = r.setStatus(ctx, commit, "running", s)
	}
	if standsStill(err) {
		return nil
	}
	return err
}

func (r *Repository) setStatus(ctx context.Context, commit, state string, s forge.Status) error {
	in := map[string]any{
		"name": s.Context, "state": state, "description": forge.OneLine(s.Description, r.forge.Limits().StatusDescription),
	}
	if s.URL != "" {
		in["target_url"] = s.URL
	}
	return r.do(ctx, rest.Request{
		Op: "set status", Method: http.MethodPost, Path: "/statuses" + rest.Path(commit), Repeatable: true, In: in,
	})
}

// standsStill reports whether a status already had the state: "Cannot transition status via :run from :running".
// From any other state, that is a real refusal.
func standsStill(err error) bool {
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
	var statuses []forge.Status
	path := "/repository/commits" + rest.Path(commit) + "/statuses"
	err := list(ctx, r, rest.Request{Op: "read statuses", Path: path}, func(s status) bool {
		statuses = append(statuses, forge.Status{
			Context: s.Name, State: s.state(), Description: s.Description, URL: s.TargetURL, Time: s.CreatedAt,
		})
		return true
	})
	if err != nil {
		return nil, err
	}
	return forge.LatestStatuses(statuses), nil
}
