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

// review is what somebody said at several lines at once.
type review struct {
	ID   int    `json:"id"`
	User user   `json:"user"`
	Body string `json:"body"`
}

// reviewComment is a part of a review that is to be written.
type reviewComment struct {
	Path string `json:"path"`
	Body string `json:"body"`
	Line int    `json:"new_position"`
}

// Annotate shows annotations as one review, since only whole reviews can be deleted. It takes every line of every file.
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
		// There is no place at a file; the first line stands for it.
		comments = append(comments, reviewComment{n.File, n.Body(true), max(n.Line, 1)})
	}
	return r.do(ctx, rest.Request{
		Op: "annotate change", Method: http.MethodPost, Path: path,
		In: map[string]any{"event": "COMMENT", "body": forge.Mark("", marker, 0), "commit_id": a.Commit, "comments": comments},
	})
}

// reviews are ours.
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
