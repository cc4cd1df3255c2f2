package azuredevops

import (
	"context"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Annotate posts annotations as threads at lines.
// Azure DevOps accepts any line, and moves threads along with later commits itself.
func (r *Repository) Annotate(ctx context.Context, number int, a forge.Annotations) error {
	there, err := r.existingNotes(ctx, number)
	if err != nil {
		return err
	}
	return a.Settle(there, func(id string) error {
		thread, comment, _ := strings.Cut(id, "/")
		return r.do(ctx, rest.Request{
			Op: "remove annotation", Method: http.MethodDelete, Path: pull(number, "threads", thread, "comments", comment),
		})
	}, func(n forge.Note, body string, atLine bool) error { return r.startThread(ctx, number, n, body, atLine) })
}

// existingNotes returns our comments at lines.
func (r *Repository) existingNotes(ctx context.Context, number int) ([]forge.ExistingNote, error) {
	all, err := r.conversation(ctx, number, true)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	viewer, err := r.forge.viewer(ctx, r.organization)
	if err != nil {
		return nil, err
	}
	var ours []forge.ExistingNote
	for _, c := range all {
		if c.by == viewer.ID {
			ours = append(ours, forge.ExistingNote{ID: c.ID, Body: c.Body})
		}
	}
	return ours, nil
}

// startThread starts a thread at a line. Only a refusal stays open: policies may require resolved threads,
// and nothing else must block a merge.
func (r *Repository) startThread(ctx context.Context, number int, n forge.Note, body string, atLine bool) error {
	place := map[string]any{"filePath": "/" + n.File}
	if atLine {
		place["rightFileStart"] = map[string]any{"line": n.Line, "offset": 1}
		place["rightFileEnd"] = map[string]any{"line": n.Line, "offset": 2}
	}
	status := "closed"
	if n.Level == forge.Refusal {
		status = "active"
	}
	return r.do(ctx, rest.Request{
		Op: "annotate pull request", Method: http.MethodPost, Path: pull(number, "threads"),
		In: map[string]any{
			"status": status, "threadContext": place,
			"comments": []map[string]any{{"parentCommentId": 0, "content": body, "commentType": "text"}},
		},
	})
}
