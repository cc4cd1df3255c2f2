package github

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// note is a review comment.
type note struct {
	ID          int64  `json:"id"`
	User        user   `json:"user"`
	Body        string `json:"body"`
	SubjectType string `json:"subject_type"`
	Line        *int   `json:"line"`
}

// Annotate posts annotations as review comments. Any token that can write pull requests can create those.
// Check runs would work as well, but only apps can create them.
func (r *Repository) Annotate(ctx context.Context, number int, a forge.Annotations) error {
	there, err := r.notes(ctx, number)
	if err != nil {
		return err
	}
	return a.Settle(there,
		func(id string) error { return r.Do(ctx, removeNote.remove(rest.Path("pulls", "comments", id))) },
		func(n forge.Note, body string, atLine bool) error {
			return r.writeNote(ctx, number, a.Commit, n, body, atLine)
		})
}

// notes returns our review comments.
func (r *Repository) notes(ctx context.Context, number int) ([]forge.ExistingNote, error) {
	all, err := rest.All[note](ctx, &r.Repository, readNotes.read(rest.Path("pulls", number, "comments"), nil))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	viewer, err := r.forge.Viewer(ctx)
	if err != nil {
		return nil, err
	}
	var ours []forge.ExistingNote
	for _, n := range all {
		// The token of a CI job does not reveal its account. Then every comment by a bot counts as ours, and none by users.
		if viewer == "" && n.User.Type == "Bot" || viewer != "" && strings.EqualFold(n.User.Login, viewer) {
			outdated := n.SubjectType != "file" && n.Line == nil
			ours = append(ours, forge.ExistingNote{ID: strconv.FormatInt(n.ID, 10), Body: n.Body, Outdated: outdated})
		}
	}
	return ours, nil
}

func (r *Repository) writeNote(ctx context.Context, number int, commit string, n forge.Note, body string, atLine bool) error {
	in := map[string]any{"body": body, "commit_id": commit, "path": n.File, "subject_type": "file"}
	if atLine {
		in["subject_type"], in["line"], in["side"] = "line", n.Line, "RIGHT"
	}
	return r.Do(ctx, writeNote.write(http.MethodPost, rest.Path("pulls", number, "comments"), in, nil))
}
