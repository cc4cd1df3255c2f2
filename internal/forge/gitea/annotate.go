package gitea

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// review is a decision, or a set of comments at lines, posted together.
type review struct {
	ID          int       `json:"id"`
	User        user      `json:"user"`
	Body        string    `json:"body"`
	State       string    `json:"state"`
	Commit      string    `json:"commit_id"`
	Dismissed   bool      `json:"dismissed"`
	SubmittedAt time.Time `json:"submitted_at"`
	HTMLURL     string    `json:"html_url"`
}

// reviewComment is one comment of a review to be posted.
type reviewComment struct {
	Path string `json:"path"`
	Body string `json:"body"`
	Line int    `json:"new_position"`
}

// Annotate posts annotations as one review, since only whole reviews can be deleted.
// Any line of any file is accepted.
func (r *Repository) Annotate(ctx context.Context, number int, a forge.Annotations) error {
	path := rest.Path("pulls", number, "reviews")
	there, err := r.reviews(ctx, path)
	if err != nil {
		return err
	}
	marker, posted := a.Name+" "+a.Digest(), len(a.All) == 0
	for _, v := range there {
		switch {
		case !a.Wrote(v.Body):
			continue
		case !posted && forge.Marked(v.Body, marker):
			posted = true
			continue
		}
		err := r.Do(ctx, rest.Request{Op: "remove annotations", Method: http.MethodDelete, Path: path + rest.Path(v.ID), MissingOK: true})
		if err != nil {
			return err
		}
	}
	if posted {
		return nil
	}
	var comments []reviewComment
	for _, n := range a.Notes() {
		// Comments at files do not exist; the first line is used instead.
		comments = append(comments, reviewComment{n.File, n.Body(true), max(n.Line, 1)})
	}
	return r.Do(ctx, rest.Request{
		Op: "annotate pull request", Method: http.MethodPost, Path: path,
		In: map[string]any{"event": "COMMENT", "body": forge.Mark("", marker, 0), "commit_id": a.Commit, "comments": comments},
	})
}

// reviews returns our reviews.
func (r *Repository) reviews(ctx context.Context, path string) ([]review, error) {
	request := rest.Request{Op: "read annotations", Path: path, Next: unlinked}
	all, err := rest.All[review](ctx, &r.Repository, request)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	viewer, err := r.forge.Viewer(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(v review) bool { return v.User.Login != viewer }), nil
}
