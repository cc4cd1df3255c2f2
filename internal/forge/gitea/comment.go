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
func (r *Repository) Comments(ctx context.Context, change int) ([]forge.Comment, error) {
	var comments []forge.Comment
	path := numbered("/issues", change, "comments")
	err := list(ctx, r, rest.Request{Op: "read comments", Path: path}, func(c comment) bool {
		comments = append(comments, c.comment())
		return true
	})
	// If the pull request does not exist, the API answers with an internal error.
	if errors.Is(err, forge.ErrUnavailable) {
		if _, missing := r.pull(ctx, change); errors.Is(missing, forge.ErrNotFound) {
			return nil, missing
		}
	}
	return comments, err
}

// UpsertComment creates or updates our comment with a marker.
func (r *Repository) UpsertComment(ctx context.Context, change int, marker, body string) (forge.Comment, error) {
	body = forge.Mark(body, marker, r.forge.Limits().Comment)
	all, err := r.Comments(ctx, change)
	if err != nil {
		return forge.Comment{}, err
	}
	ours, found, err := forge.OwnComment(all, marker, func() (string, error) { return r.forge.Viewer(ctx) })
	if err != nil || found && ours.Body == body {
		return ours, err
	}
	request := rest.Request{
		Op: "create comment", Right: writeIssue, Method: http.MethodPost, Path: numbered("/issues", change, "comments"),
	}
	if found {
		request.Op, request.Method, request.Path = "edit comment", http.MethodPatch, "/issues/comments"+rest.Path(ours.ID)
	}
	var written comment
	request.In, request.Out = map[string]any{"body": body}, &written
	err = r.do(ctx, request)
	return written.comment(), err
}
