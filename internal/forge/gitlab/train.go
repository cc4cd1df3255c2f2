package gitlab

import (
	"context"
	"errors"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// mergesByTrain reports whether the project merges through merge trains: https://docs.gitlab.com/api/merge_trains/. The usual request
// to merge would merge at once there, before those that wait, and GitLab would test all of them again.
func (r *Repository) mergesByTrain(ctx context.Context, m forge.Merge) (bool, error) {
	if m.Head == "" {
		return false, r.Fail(forge.ErrInvalid, mergeNow, "no commit was checked")
	}
	var project struct {
		Trains bool `json:"merge_trains_enabled"`
	}
	err := r.Do(ctx, rest.Request{Op: "read project", Out: &project})
	return project.Trains, err
}

// car is the place of a merge request in a merge train.
type car struct {
	Status string `json:"status"`
}

// board adds a merge request to the merge train of its base branch, unless it is in it. The error is always set: a [forge.ErrConflict]
// if the merge request is in the train.
func (r *Repository) board(ctx context.Context, number int, m forge.Merge) error {
	path := rest.Path("merge_trains", "merge_requests", number)
	var now car
	if err := r.Do(ctx, rest.Request{Op: "read merge train", Path: path, Out: &now, MissingOK: true}); err != nil {
		return err
	}
	switch now.Status {
	case "idle", "fresh", "stale", "merging":
		return r.Fail(forge.ErrConflict, mergeNow, "it is in the merge train")
	}
	in := map[string]any{"sha": m.Head, "auto_merge": false}
	if m.Method != "" {
		in["squash"] = m.Method == forge.MergeSquash
	}
	err := explainMerge(r.Do(ctx, rest.Request{
		Op: mergeNow, Right: "scope api and the right to merge to the branch", Method: http.MethodPost, Path: path, In: in,
	}))
	var refused *forge.Error
	switch {
	case err == nil:
		return r.Fail(forge.ErrConflict, mergeNow, "it is in the merge train")
	case errors.As(err, &refused) && refused.Status == http.StatusBadRequest:
		refused.Kind, refused.Detail = forge.ErrConflict, "it cannot be added to the merge train: "+refused.Detail
	}
	return err
}
