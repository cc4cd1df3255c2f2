package gitea

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// review is a set of comments at lines, posted together.
type review struct {
	ID   int    `json:"id"`
	User user   `json:"user"`
	Body string `json:"body"`
}

// reviewComment is one comment of a review to be posted.
type reviewComment struct {
	Path string `json:"path"`
	Body string `json:"body"`
	Line int    `json:"new_position"`
}

// Annotate posts annotations as one review, since only whole reviews can be deleted.
// Any line of any file is accepted.
func (r *Repository) Annotate(ctx context.Context, change int, a forge.Annotations) error {
	path := numbered("/pulls", change, "reviews")
	there, err := r.reviews(ctx, path)
	if err != nil {
		return err
	}
	marker, stands := a.Name+" "+a.Digest(), len(a.All) == 0
	for _, v := range there {
		switch {
		case !a.Wrote(v.Body):
			continue
		case !stands && forge.Marked(v.Body, marker):
			stands = true
			continue
		}
		err := r.do(ctx, rest.Request{Op: "remove annotations", Method: http.MethodDelete, Path: path + rest.Path(strconv.Itoa(v.ID))})
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return err
		}
	}
	if stands {
		return nil
	}
	var comments []reviewComment
	for _, n := range a.Notes() {
		// Comments at files do not exist; the first line is used instead.
		comments = append(comments, reviewComment{n.File, n.Body(true), max(n.Line, 1)})
	}
	return r.do(ctx, rest.Request{
		Op: "annotate change", Method: http.MethodPost, Path: path,
		In: map[string]any{"event": "COMMENT", "body": forge.Mark("", marker, 0), "commit_id": a.Commit, "comments": comments},
	})
}

// reviews returns our reviews.
func (r *Repository) reviews(ctx context.Context, path string) ([]review, error) {
	var all []review
	err := listUnlinked(ctx, r, rest.Request{Op: "read annotations", Path: path}, func(v review) { all = append(all, v) })
	if err != nil || len(all) == 0 {
		return nil, err
	}
	viewer, err := r.forge.Viewer(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(v review) bool { return v.User.Login != viewer }), nil
}
