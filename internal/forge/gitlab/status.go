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
	// MayFail says of a job that its pipeline succeeds without it.
	MayFail bool `json:"allow_failure"`
}

// said is how GitLab says a state. A status that could not be found out is canceled: it lets nothing through either.
var said = map[forge.StatusState]string{
	forge.Pending: "pending", forge.Success: "success", forge.Failure: "failed", forge.Errored: "canceled",
}

// state brings a state to one that all forges know; all that are not over are pending.
// What was skipped stops nobody, nor does a job that may fail when it failed or waits for a person.
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

// SetStatus says something about a commit. Saying it twice does no harm, so that it is repeated.
//
// GitLab takes each state as a step that a status makes, and refuses the one to where it stands, even with new words.
// Only what waits can stand still: waiting for a start or running makes no difference to us, so that one follows the other,
// and when there is no step left, the state at least is as asked.
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

// standsStill reports whether a status could not become what it is: "Cannot transition status via :run from :running".
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

// Statuses reads the latest status of each context. Jobs of pipelines are among them.
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
