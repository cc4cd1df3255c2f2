package azuredevops

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// thread is a thread of comments. Ours have one comment each.
type thread struct {
	ID       int       `json:"id"`
	Deleted  bool      `json:"isDeleted"`
	Comments []comment `json:"comments"`
	// Place is the file and line of a thread. Nil for a thread about the whole pull request.
	Place *struct {
		File string `json:"filePath"`
	} `json:"threadContext"`
}

// comment is a comment by an account, or by the forge itself ("reviewer added").
type comment struct {
	ID          int       `json:"id"`
	Author      *identity `json:"author"`
	Content     string    `json:"content"`
	Type        string    `json:"commentType"`
	Deleted     bool      `json:"isDeleted"`
	PublishedAt time.Time `json:"publishedDate"`
}

// authored is a comment with its author's identity, which tells our own comments from others.
type authored struct {
	forge.Comment
	by string
}

func (r *Repository) comment(number, thread int, c comment) authored {
	page := r.forge.site.URL() + rest.Path(r.organization, r.project, "_git", r.name)
	a := authored{Comment: forge.Comment{
		ID: fmt.Sprintf("%d/%d", thread, c.ID), Author: c.Author.name(), Body: c.Content, CreatedAt: c.PublishedAt,
		URL: fmt.Sprintf("%s/pullrequest/%d?discussionId=%d", page, number, thread),
	}}
	if c.Author != nil {
		a.by = c.Author.ID
	}
	return a
}

// Comments reads a pull request's comments, without those by the forge itself and those at lines.
func (r *Repository) Comments(ctx context.Context, number int) ([]forge.Comment, error) {
	all, err := r.conversation(ctx, number, false)
	comments := make([]forge.Comment, 0, len(all))
	for _, c := range all {
		comments = append(comments, c.Comment)
	}
	return comments, err
}

// conversation reads the comments by accounts, either about the whole pull request or at lines, oldest first.
func (r *Repository) conversation(ctx context.Context, number int, atLines bool) ([]authored, error) {
	var threads values[thread]
	if err := r.do(ctx, rest.Request{Op: "read comments", Path: pull(number, "threads"), Out: &threads}); err != nil {
		return nil, err
	}
	var all []authored
	for _, t := range threads.Value {
		for _, c := range t.Comments {
			if !t.Deleted && (t.Place != nil) == atLines && !c.Deleted && c.Type != "system" && c.Type != "codeChange" {
				all = append(all, r.comment(number, t.ID, c))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b authored) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all, nil
}

// UpsertComment creates or updates our comment with a marker.
// It compares identities, since names are not unique here.
func (r *Repository) UpsertComment(ctx context.Context, number int, marker, body string) (forge.Comment, error) {
	limit := r.forge.Limits().Comment
	body = fit(forge.Mark(body, marker, limit), limit)
	all, err := r.conversation(ctx, number, false)
	if err != nil {
		return forge.Comment{}, err
	}
	ours, found, err := r.ours(ctx, all, marker)
	switch {
	case err != nil:
		return forge.Comment{}, err
	case !found:
		return r.forge.written.Upsert(r.Of, number, marker, body, func(id, body string) (forge.Comment, error) {
			if id == "" {
				return r.createComment(ctx, number, body)
			}
			return r.editComment(ctx, number, forge.Comment{ID: id}, body)
		})
	case strings.TrimSpace(ours.Body) == strings.TrimSpace(body):
		return ours, nil
	}
	return r.editComment(ctx, number, ours, body)
}

func (r *Repository) editComment(ctx context.Context, number int, c forge.Comment, body string) (forge.Comment, error) {
	thread, comment, _ := strings.Cut(c.ID, "/")
	c.Body = body
	return c, r.do(ctx, rest.Request{
		Op: "edit comment", Method: http.MethodPatch, Path: pull(number, "threads", thread, "comments", comment),
		In: map[string]any{"content": body},
	})
}

// ours finds our comment with a marker.
func (r *Repository) ours(ctx context.Context, all []authored, marker string) (forge.Comment, bool, error) {
	marked := slices.DeleteFunc(all, func(c authored) bool { return !forge.Marked(c.Body, marker) })
	if len(marked) == 0 {
		return forge.Comment{}, false, nil
	}
	viewer, err := r.forge.viewer(ctx, r.organization)
	if err != nil {
		return forge.Comment{}, false, err
	}
	for _, c := range marked {
		if c.by == viewer.ID {
			return c.Comment, true, nil
		}
	}
	return forge.Comment{}, false, nil
}

// createComment starts a thread. It is closed from the start, since policies may require that threads are resolved.
func (r *Repository) createComment(ctx context.Context, number int, body string) (forge.Comment, error) {
	var created thread
	err := r.do(ctx, rest.Request{
		Op: "create comment", Method: http.MethodPost, Path: pull(number, "threads"), Out: &created,
		In: map[string]any{
			"status":   "closed",
			"comments": []map[string]any{{"parentCommentId": 0, "content": body, "commentType": "text"}},
		},
	})
	if err != nil {
		return forge.Comment{}, err
	}
	if len(created.Comments) == 0 {
		return forge.Comment{}, r.Fail(forge.ErrUnavailable, "create comment", "thread "+strconv.Itoa(created.ID)+" has no comment")
	}
	return r.comment(number, created.ID, created.Comments[0]).Comment, nil
}
