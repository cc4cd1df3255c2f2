package github

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Annotate posts annotations as review comments. Any token that can write pull requests can create those.
// Check runs would work as well, but only apps can create them.
func (r *Repository) Annotate(ctx context.Context, change int, a forge.Annotations) error {
	there, err := r.notes(ctx, change)
	if err != nil {
		return err
	}
	return a.Settle(there,
		func(id string) error { return r.removeNote(ctx, id) },
		func(n forge.Note, body string, atLine bool) error {
			return r.writeNote(ctx, change, a.Commit, n, body, atLine)
		})
}

// notes returns our review comments.
func (r *Repository) notes(ctx context.Context, change int) ([]forge.Standing, error) {
	owner, name := r.names()
	var all []*github.PullRequestComment
	err := pages(ctx, r, readNotes, func(ctx context.Context, at github.ListOptions) ([]*github.PullRequestComment, *github.Response, error) {
		return r.forge.client.PullRequests.ListComments(ctx, owner, name, change, &github.PullRequestListCommentsOptions{ListOptions: at})
	}, func(c *github.PullRequestComment) bool {
		all = append(all, c)
		return true
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	viewer, err := r.forge.Viewer(ctx)
	if err != nil {
		return nil, err
	}
	var ours []forge.Standing
	for _, c := range all {
		// The token of a CI job does not reveal its account. Then every comment by a bot counts as ours, and none by users.
		if viewer == "" && c.GetUser().GetType() == "Bot" || viewer != "" && strings.EqualFold(c.GetUser().GetLogin(), viewer) {
			outdated := c.GetSubjectType() != "file" && c.Line == nil
			ours = append(ours, forge.Standing{ID: strconv.FormatInt(c.GetID(), 10), Body: c.GetBody(), Outdated: outdated})
		}
	}
	return ours, nil
}

func (r *Repository) writeNote(ctx context.Context, change int, commit string, n forge.Note, body string, atLine bool) error {
	owner, name := r.names()
	request := github.CreatePullRequestCommentRequest{Body: body, CommitID: commit, Path: n.File, SubjectType: new("file")}
	if atLine {
		request.SubjectType, request.Line, request.Side = new("line"), &n.Line, new("RIGHT")
	}
	_, answer, err := r.forge.client.PullRequests.CreateComment(writeNote.on(ctx), owner, name, change, request)
	return r.explain(writeNote, answer, err)
}

func (r *Repository) removeNote(ctx context.Context, note string) error {
	id, err := strconv.ParseInt(note, 10, 64)
	if err != nil {
		return err
	}
	owner, name := r.names()
	answer, err := r.forge.client.PullRequests.DeleteComment(removeNote.on(ctx), owner, name, id)
	return r.explain(removeNote, answer, err)
}
