package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
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

func (r *Repository) comment(number int, n note) forge.Comment {
	return forge.Comment{
		ID: strconv.Itoa(n.ID), Author: n.Author.name(), Body: n.Body, CreatedAt: n.CreatedAt,
		URL: fmt.Sprintf("%s/%s/-/merge_requests/%d#note_%d", r.forge.site.URL(), r.Of.Path, number, n.ID),
	}
}

// Comments reads a merge request's comments, without those by GitLab itself and those at lines.
func (r *Repository) Comments(ctx context.Context, number int) ([]forge.Comment, error) {
	var comments []forge.Comment
	err := r.notes(ctx, number, func(n note) {
		if n.Type != diffNote {
			comments = append(comments, r.comment(number, n))
		}
	})
	return comments, err
}

// notes reads a merge request's comments by accounts, oldest first.
func (r *Repository) notes(ctx context.Context, number int, use func(note)) error {
	request := rest.Request{
		Op: "read comments", Path: rest.Path("merge_requests", number, "notes"),
		Query: url.Values{"order_by": {"created_at"}, "sort": {"asc"}},
	}
	return rest.List(ctx, &r.Repository, request, func(n note) bool {
		if !n.System {
			use(n)
		}
		return true
	})
}

// UpsertComment creates or updates our comment with a marker.
func (r *Repository) UpsertComment(ctx context.Context, number int, marker, body string) (forge.Comment, error) {
	return forge.UpsertComment(ctx, r.forge, &r.forge.written, r, number, marker, body, func(id, body string) (forge.Comment, error) {
		var written note
		request := rest.Request{
			Op: "create comment", Method: http.MethodPost, Path: rest.Path("merge_requests", number, "notes"),
			In: map[string]any{"body": body}, Out: &written,
		}
		if id != "" {
			request.Op, request.Method, request.Path = "edit comment", http.MethodPut, request.Path+rest.Path(id)
		}
		err := r.Do(ctx, request)
		return r.comment(number, written), err
	})
}
