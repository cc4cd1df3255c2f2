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
func (r *Repository) Annotate(ctx context.Context, number int, a forge.Annotations) error {
	there, err := r.notes(ctx, number)
	if err != nil {
		return err
	}
	return a.Settle(there,
		func(id string) error { return r.removeNote(ctx, id) },
		func(n forge.Note, body string, atLine bool) error {
			return r.writeNote(ctx, number, a.Commit, n, body, atLine)
		})
}

// notes returns our review comments.
func (r *Repository) notes(ctx context.Context, number int) ([]forge.ExistingNote, error) {
	list := r.forge.client.PullRequests.ListCommentsIter(readNotes.on(ctx), r.owner, r.name, number,
		&github.PullRequestListCommentsOptions{ListOptions: perPage})
	all, err := collect(r, readNotes, list, same, nil, 0)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	viewer, err := r.forge.Viewer(ctx)
	if err != nil {
		return nil, err
	}
	var ours []forge.ExistingNote
	for _, c := range all {
		// The token of a CI job does not reveal its account. Then every comment by a bot counts as ours, and none by users.
		if viewer == "" && c.GetUser().GetType() == "Bot" || viewer != "" && strings.EqualFold(c.GetUser().GetLogin(), viewer) {
			outdated := c.GetSubjectType() != "file" && c.Line == nil
			ours = append(ours, forge.ExistingNote{ID: strconv.FormatInt(c.GetID(), 10), Body: c.GetBody(), Outdated: outdated})
		}
	}
	return ours, nil
}

func (r *Repository) writeNote(ctx context.Context, number int, commit string, n forge.Note, body string, atLine bool) error {
	request := github.CreatePullRequestCommentRequest{Body: body, CommitID: commit, Path: n.File, SubjectType: new("file")}
	if atLine {
		request.SubjectType, request.Line, request.Side = new("line"), &n.Line, new("RIGHT")
	}
	_, answer, err := r.forge.client.PullRequests.CreateComment(writeNote.on(ctx), r.owner, r.name, number, request)
	return r.explain(writeNote, answer, err)
}

func (r *Repository) removeNote(ctx context.Context, note string) error {
	id, err := strconv.ParseInt(note, 10, 64)
	if err != nil {
		return err
	}
	answer, err := r.forge.client.PullRequests.DeleteComment(removeNote.on(ctx), r.owner, r.name, id)
	return r.explain(removeNote, answer, err)
}
