package bitbucketserver

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
	"github.com/kalypso-io/kalypso/internal/forge/texts"
)

type comment struct {
	ID          int    `json:"id"`
	Version     int    `json:"version"`
	Text        string `json:"text"`
	Author      user   `json:"author"`
	CreatedDate millis `json:"createdDate"`
}

// anchor is the place of a comment in the files.
type anchor struct {
	Path     string `json:"path"`
	Line     int    `json:"line,omitempty"`
	LineType string `json:"lineType,omitempty"`
	FileType string `json:"fileType,omitempty"`
	DiffType string `json:"diffType,omitempty"`
	// Orphaned means that the diff no longer has the line.
	Orphaned bool `json:"orphaned,omitempty"`
}

func (r *Repository) comment(number int, c comment) forge.Comment {
	return forge.Comment{
		ID: strconv.Itoa(c.ID), Author: c.Author.Name, Body: texts.Show(c.Text), CreatedAt: c.CreatedDate.time(),
		URL: fmt.Sprintf("%s/pull-requests/%d/overview?commentId=%d", r.selfURL(), number, c.ID),
	}
}

// Comments reads a pull request's comments from its history: the API lists only those of a file.
func (r *Repository) Comments(ctx context.Context, number int) ([]forge.Comment, error) {
	all := []forge.Comment{}
	err := r.activities(ctx, number, func(a activity) bool {
		if a.wrote() && a.Anchor == nil {
			all = append(all, r.comment(number, *a.Comment))
		}
		return true
	})
	slices.Reverse(all) // the newest first
	return all, err
}

// wrote reports whether an activity is a new comment.
func (a activity) wrote() bool {
	return a.Action == "COMMENTED" && a.CommentAction == "ADDED" && a.Comment != nil
}

// UpsertComment creates or updates our comment with a marker.
func (r *Repository) UpsertComment(ctx context.Context, number int, marker, body string) (forge.Comment, error) {
	return forge.UpsertComment(ctx, r.forge, &r.forge.written, r, number, marker, body, func(id, body string) (forge.Comment, error) {
		var written comment
		request := rest.Request{
			Op: "create comment", Method: http.MethodPost, Path: rest.Path("pull-requests", number, "comments"), Out: &written,
			In: map[string]any{"text": texts.Hide(body)},
		}
		if id != "" {
			now, err := r.oneComment(ctx, number, id)
			if err != nil {
				return forge.Comment{}, err
			}
			request.Op, request.Method, request.Path = "edit comment", http.MethodPut, request.Path+rest.Path(id)
			request.In = map[string]any{"text": texts.Hide(body), "version": now.Version}
		}
		err := r.Do(ctx, request)
		return r.comment(number, written), err
	})
}

// oneComment reads a comment, of which an edit names the version.
func (r *Repository) oneComment(ctx context.Context, number int, id string) (comment, error) {
	var now comment
	err := r.Do(ctx, rest.Request{Op: "read comment", Path: rest.Path("pull-requests", number, "comments", id), Out: &now})
	return now, err
}

// Annotate posts annotations as comments at lines of the files. They are no tasks, so they do not block a merge.
func (r *Repository) Annotate(ctx context.Context, number int, a forge.Annotations) error {
	there, err := r.existingNotes(ctx, number)
	if err != nil {
		return err
	}
	return a.Settle(there, func(id string) error { return r.removeNote(ctx, number, id) }, func(n forge.Note, body string, atLine bool) error {
		at := anchor{Path: n.File, DiffType: "EFFECTIVE", FileType: "TO"}
		if atLine {
			at.Line, at.LineType = n.Line, "ADDED"
		}
		return r.Do(ctx, rest.Request{
			Op: "annotate pull request", Method: http.MethodPost, Path: rest.Path("pull-requests", number, "comments"),
			In: map[string]any{"text": texts.Hide(body), "anchor": at}, Out: new(comment),
		})
	})
}

// existingNotes returns our comments at lines.
func (r *Repository) existingNotes(ctx context.Context, number int) ([]forge.ExistingNote, error) {
	var all []forge.ExistingNote
	var authors []string
	err := r.activities(ctx, number, func(a activity) bool {
		if a.wrote() && a.Anchor != nil {
			all = append(all, forge.ExistingNote{ID: strconv.Itoa(a.Comment.ID), Body: texts.Show(a.Comment.Text), Outdated: a.Anchor.Orphaned})
			authors = append(authors, a.Comment.Author.Name)
		}
		return true
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	viewer, err := r.forge.Viewer(ctx)
	if err != nil {
		return nil, err
	}
	var ours []forge.ExistingNote
	for i, n := range all {
		if forge.SameLogin(authors[i], viewer) {
			ours = append(ours, n)
		}
	}
	return ours, nil
}

// removeNote deletes a comment. One with replies cannot be deleted, and stays.
func (r *Repository) removeNote(ctx context.Context, number int, id string) error {
	now, err := r.oneComment(ctx, number, id)
	if err != nil {
		return err
	}
	return forge.Ignore(r.Do(ctx, rest.Request{
		Op: "remove annotation", Method: http.MethodDelete, Path: rest.Path("pull-requests", number, "comments", id),
		Query: url.Values{"version": {strconv.Itoa(now.Version)}},
	}), forge.ErrConflict)
}
