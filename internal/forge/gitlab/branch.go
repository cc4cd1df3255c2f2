package gitlab

import (
	"context"
	"errors"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// CreateBranch creates a branch at a commit.
func (r *Repository) CreateBranch(ctx context.Context, name, commit string) error {
	err := conflictIf(r.do(ctx, rest.Request{
		Op: "create branch", Method: http.MethodPost, Path: "/repository/branches",
		In: map[string]any{"branch": name, "ref": commit},
	}), "already exists")
	if !errors.Is(err, forge.ErrConflict) {
		return err
	}
	var existing struct {
		Commit struct {
			ID string `json:"id"`
		} `json:"commit"`
	}
	readErr := r.do(ctx, rest.Request{Op: "read branch", Path: "/repository/branches" + rest.Path(name), Out: &existing})
	if readErr == nil && existing.Commit.ID == commit {
		return nil
	}
	return err
}

// DeleteBranch deletes a branch.
func (r *Repository) DeleteBranch(ctx context.Context, name string) error {
	err := r.do(ctx, rest.Request{
		Op: "delete branch", Method: http.MethodDelete, Path: "/repository/branches" + rest.Path(name),
	})
	if errors.Is(err, forge.ErrNotFound) {
		return nil
	}
	return err
}
