package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// note is a comment, or an entry that GitLab itself writes: "added label".
type note struct {
	ID        int       `json:"id"`
	Author    *user     `json:"author"`
	Body      string    `json:"body"`
	System    bool      `json:"system"`
	CreatedAt time.Time `json:"created_at"`
	// Type is diffNote for a comment in the diff, at Position. For others it is empty or something else.
	Type     string    `json:"type"`
	Position *diffRefs `json:"position"`
}

const diffNote = "DiffNote"

func (r *Repository) comment(change int, n note) forge.Comment {
	return forge.Comment{
		ID: strconv.Itoa(n.ID), Author: n.Author.name(), Body: n.Body, CreatedAt: n.CreatedAt,
		URL: fmt.Sprintf("%s/%s/-/merge_requests/%d#note_%d", r.forge.site.URL(), r.id.Path, change, n.ID),
	}
}

// Comments reads a merge request's comments, without those by GitLab itself and those at lines.
func (r *Repository) Comments(ctx context.Context, change int) ([]forge.Comment, error) {
	var comments []forge.Comment
	err := r.notes(ctx, change, func(n note) {
		if n.Type != diffNote {
			comments = append(comments, r.comment(change, n))
		}
	})
	return comments, err
}

// notes reads a merge request's comments by accounts, oldest first.
func (r *Repository) notes(ctx context.Context, change int, use func(note)) error {
	request := rest.Request{
		Op: "read comments", Path: numbered("/merge_requests", change, "notes"),
		Query: url.Values{"order_by": {"created_at"}, "sort": {"asc"}},
	}
	return list(ctx, r, request, func(n note) bool {
		if !n.System {
			use(n)
		}
		return true
	})
}

// UpsertComment creates or updates our comment with a marker.
func (r *Repository) UpsertComment(ctx context.Context, change int, marker, body string) (forge.Comment, error) {
	body = forge.Mark(body, marker, r.forge.Limits().Comment)
	all, err := r.Comments(ctx, change)
	if err != nil {
		return forge.Comment{}, err
	}
	ours, found, err := forge.OwnComment(all, marker, func() (string, error) { return r.forge.Viewer(ctx) })
	if err != nil || found && strings.TrimSpace(ours.Body) == strings.TrimSpace(body) {
		return ours, err
	}
	request := rest.Request{Op: "create comment", Method: http.MethodPost, Path: numbered("/merge_requests", change, "notes")}
	if found {
		request.Op, request.Method, request.Path = "edit comment", http.MethodPut, request.Path+rest.Path(ours.ID)
	}
	var written note
	request.In, request.Out = map[string]any{"body": body}, &written
	if err := r.do(ctx, request); err != nil {
		return forge.Comment{}, err
	}
	return r.comment(change, written), nil
}
