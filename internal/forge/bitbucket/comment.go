package bitbucket

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
	"github.com/kalypso-io/kalypso/internal/forge/texts"
)

type comment struct {
	ID      int `json:"id"`
	Content struct {
		Raw string `json:"raw"`
	} `json:"content"`
	User      *user     `json:"user"`
	CreatedOn time.Time `json:"created_on"`
	Deleted   bool      `json:"deleted"`
	Inline    *spot     `json:"inline"`
	Links     links     `json:"links"`
}

// spot is the place of a comment in the files.
type spot struct {
	Path string `json:"path"`
	To   *int   `json:"to,omitempty"`
}

func (c comment) comment() forge.Comment {
	return forge.Comment{
		ID: strconv.Itoa(c.ID), Author: c.User.login(), Body: texts.Show(c.Content.Raw), URL: c.Links.HTML.Href, CreatedAt: c.CreatedOn,
	}
}

// conversation reads a pull request's comments: those at lines of files, or the others.
func (r *Repository) conversation(ctx context.Context, number int, atLines bool) ([]forge.Comment, error) {
	all := []forge.Comment{}
	request := list(rest.Request{Op: "read comments", Path: rest.Path("pullrequests", number, "comments")})
	err := rest.List(ctx, &r.Repository, request, func(c comment) bool {
		if !c.Deleted && (c.Inline != nil) == atLines {
			all = append(all, c.comment())
		}
		return true
	})
	return all, err
}

// Comments reads a pull request's comments.
func (r *Repository) Comments(ctx context.Context, number int) ([]forge.Comment, error) {
	return r.conversation(ctx, number, false)
}

// UpsertComment creates or updates our comment with a marker.
func (r *Repository) UpsertComment(ctx context.Context, number int, marker, body string) (forge.Comment, error) {
	return forge.UpsertComment(ctx, r.forge, &r.forge.written, r, number, marker, body, func(id, body string) (forge.Comment, error) {
		var written comment
		request := rest.Request{
			Op: "create comment", Right: writePullRequests, Method: http.MethodPost, Path: rest.Path("pullrequests", number, "comments"),
			In: content(body), Out: &written,
		}
		if id != "" {
			request.Op, request.Method, request.Path = "edit comment", http.MethodPut, request.Path+rest.Path(id)
		}
		err := r.Do(ctx, request)
		return written.comment(), err
	})
}

func content(body string) map[string]any {
	return map[string]any{"content": map[string]any{"raw": texts.Hide(body)}}
}

// Annotate posts annotations as comments at lines of the files. They are no tasks, so they do not block a merge.
func (r *Repository) Annotate(ctx context.Context, number int, a forge.Annotations) error {
	there, err := r.existingNotes(ctx, number)
	if err != nil {
		return err
	}
	return a.Settle(there, func(id string) error {
		return r.Do(ctx, rest.Request{
			Op: "remove annotation", Right: writePullRequests, Method: http.MethodDelete, Path: rest.Path("pullrequests", number, "comments", id),
		})
	}, func(n forge.Note, body string, atLine bool) error {
		in, at := content(body), spot{Path: n.File}
		if atLine {
			at.To = &n.Line
		}
		in["inline"] = at
		return r.Do(ctx, rest.Request{
			Op: "annotate pull request", Right: writePullRequests, Method: http.MethodPost, Path: rest.Path("pullrequests", number, "comments"), In: in,
		})
	})
}

// existingNotes returns our comments at lines. A token without an account takes all for its own; Bitbucket refuses to remove those of others.
func (r *Repository) existingNotes(ctx context.Context, number int) ([]forge.ExistingNote, error) {
	all, err := r.conversation(ctx, number, true)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	viewer, err := r.forge.Viewer(ctx)
	if err != nil {
		return nil, err
	}
	var ours []forge.ExistingNote
	for _, c := range all {
		if viewer == "" || c.Author == viewer {
			ours = append(ours, forge.ExistingNote{ID: c.ID, Body: c.Body})
		}
	}
	return ours, nil
}
