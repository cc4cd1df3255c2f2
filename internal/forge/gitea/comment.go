package gitea

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

type comment struct {
	ID        int       `json:"id"`
	User      user      `json:"user"`
	Body      string    `json:"body"`
	HTMLURL   string    `json:"html_url"`
	CreatedAt time.Time `json:"created_at"`
}

func (c comment) comment() forge.Comment {
	return forge.Comment{
		ID: strconv.Itoa(c.ID), Author: c.User.Login, Body: c.Body, URL: c.HTMLURL, CreatedAt: c.CreatedAt,
	}
}

// Comments reads a pull request's comments. The API returns them in one page.
func (r *Repository) Comments(ctx context.Context, number int) ([]forge.Comment, error) {
	var found []comment
	err := r.Do(ctx, rest.Request{Op: "read comments", Path: rest.Path("issues", number, "comments"), Out: &found})
	// If the pull request does not exist, the API answers with an internal error.
	if errors.Is(err, forge.ErrUnavailable) {
		if _, missing := r.pull(ctx, number); errors.Is(missing, forge.ErrNotFound) {
			return nil, missing
		}
	}
	comments := make([]forge.Comment, 0, len(found))
	for _, c := range found {
		comments = append(comments, c.comment())
	}
	return comments, err
}

// UpsertComment creates or updates our comment with a marker.
func (r *Repository) UpsertComment(ctx context.Context, number int, marker, body string) (forge.Comment, error) {
	return forge.UpsertComment(ctx, r.forge, &r.forge.written, r, number, marker, body, func(id, body string) (forge.Comment, error) {
		var written comment
		request := rest.Request{
			Op: "create comment", Right: writeIssue, Method: http.MethodPost, Path: rest.Path("issues", number, "comments"),
			In: map[string]any{"body": body}, Out: &written,
		}
		if id != "" {
			request.Op, request.Method, request.Path = "edit comment", http.MethodPatch, rest.Path("issues", "comments", id)
		}
		err := r.Do(ctx, request)
		return written.comment(), err
	})
}
