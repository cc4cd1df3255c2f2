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
func (r *Repository) Comments(ctx context.Context, number int) ([]forge.Comment, error) {
	list := r.forge.client.Issues.ListCommentsIter(readComments.on(ctx), r.owner, r.name, number,
		&github.IssueListCommentsOptions{ListOptions: perPage})
	return collect(r, readComments, list, commentOf, nil, 0)
}

// UpsertComment creates or updates our comment with a marker.
func (r *Repository) UpsertComment(ctx context.Context, number int, marker, body string) (forge.Comment, error) {
	return forge.UpsertComment(ctx, r.forge, &r.forge.written, r, number, marker, body, func(id, body string) (forge.Comment, error) {
		request := github.IssueCommentRequest{Body: body}
		if id == "" {
			written, answer, err := r.forge.client.Issues.CreateComment(createComment.on(ctx), r.owner, r.name, number, request)
			return commentOf(written), r.explain(createComment, answer, err)
		}
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return forge.Comment{}, err
		}
		written, answer, err := r.forge.client.Issues.UpdateComment(editComment.on(ctx), r.owner, r.name, n, request)
		return commentOf(written), r.explain(editComment, answer, err)
	})
}
