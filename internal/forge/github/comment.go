package github

import (
	"context"
	"strconv"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func commentOf(c *github.IssueComment) forge.Comment {
	return forge.Comment{
		ID: strconv.FormatInt(c.GetID(), 10), Author: c.GetUser().GetLogin(), Body: c.GetBody(), URL: c.GetHTMLURL(),
		CreatedAt: c.GetCreatedAt().Time,
	}
}

// Comments reads a pull request's comments.
func (r *Repository) Comments(ctx context.Context, change int) ([]forge.Comment, error) {
	owner, name := r.names()
	var comments []forge.Comment
	err := pages(ctx, r, readComments, func(ctx context.Context, at github.ListOptions) ([]*github.IssueComment, *github.Response, error) {
		return r.forge.client.Issues.ListComments(ctx, owner, name, change, &github.IssueListCommentsOptions{ListOptions: at})
	}, func(c *github.IssueComment) bool {
		comments = append(comments, commentOf(c))
		return true
	})
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
	switch {
	case err != nil:
		return forge.Comment{}, err
	case found:
		return r.editComment(ctx, ours, body)
	}
	owner, name := r.names()
	written, answer, err := r.forge.client.Issues.CreateComment(createComment.on(ctx), owner, name, change, github.IssueCommentRequest{Body: body})
	if err != nil {
		return forge.Comment{}, r.explain(createComment, answer, err)
	}
	return commentOf(written), nil
}

func (r *Repository) editComment(ctx context.Context, c forge.Comment, body string) (forge.Comment, error) {
	if c.Body == body {
		return c, nil
	}
	id, err := strconv.ParseInt(c.ID, 10, 64)
	if err != nil {
		return forge.Comment{}, err
	}
	owner, name := r.names()
	written, answer, err := r.forge.client.Issues.UpdateComment(editComment.on(ctx), owner, name, id, github.IssueCommentRequest{Body: body})
	if err != nil {
		return forge.Comment{}, r.explain(editComment, answer, err)
	}
	return commentOf(written), nil
}
