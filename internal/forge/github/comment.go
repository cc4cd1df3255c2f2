package github

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// comment is a comment on an issue or a pull request.
type comment struct {
	ID        int64     `json:"id"`
	User      user      `json:"user"`
	Body      string    `json:"body"`
	HTMLURL   string    `json:"html_url"`
	CreatedAt time.Time `json:"created_at"`
}

func commentOf(c comment) forge.Comment {
	return forge.Comment{ID: strconv.FormatInt(c.ID, 10), Author: c.User.Login, Body: c.Body, URL: c.HTMLURL, CreatedAt: c.CreatedAt}
}

// Comments reads a pull request's comments.
func (r *Repository) Comments(ctx context.Context, number int) ([]forge.Comment, error) {
	return rest.Select(ctx, &r.Repository, readComments.read(rest.Path("issues", number, "comments"), nil), commentOf, nil, 0)
}

// UpsertComment creates or updates our comment with a marker.
func (r *Repository) UpsertComment(ctx context.Context, number int, marker, body string) (forge.Comment, error) {
	return forge.UpsertComment(ctx, r.forge, &r.forge.written, r, number, marker, body, func(id, body string) (forge.Comment, error) {
		var written comment
		text := map[string]string{"body": body}
		q := createComment.write(http.MethodPost, rest.Path("issues", number, "comments"), text, &written)
		if id != "" {
			q = editComment.write(http.MethodPatch, rest.Path("issues", "comments", id), text, &written)
		}
		err := r.Do(ctx, q)
		return commentOf(written), err
	})
}
