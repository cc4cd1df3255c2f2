package gitlab

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Annotate posts annotations as threads at lines. Code quality reports would be an alternative,
// but only pipeline jobs can create them.
func (r *Repository) Annotate(ctx context.Context, number int, a forge.Annotations) error {
	m, err := r.mergeRequest(ctx, number)
	if err != nil {
		return err
	}
	if m.Refs.Head != a.Commit {
		return r.Fail(forge.ErrConflict, "annotate pull request", "its diff is of another commit")
	}
	there, err := r.existingNotes(ctx, m)
	if err != nil {
		return err
	}
	required := sync.OnceValues(func() (bool, error) { return r.requiresResolved(ctx) })
	return a.Settle(there, func(id string) error {
		return r.Do(ctx, rest.Request{
			Op: "remove annotation", Method: http.MethodDelete, Path: rest.Path("merge_requests", number, "notes", id),
		})
	}, func(n forge.Note, body string, atLine bool) error {
		resolved, err := required()
		if err != nil {
			return err
		}
		return r.startThread(ctx, m, n, body, atLine, resolved && n.Level != forge.Refusal)
	})
}

// existingNotes returns our comments at lines. A comment is outdated if GitLab could not move it to the newest diff.
func (r *Repository) existingNotes(ctx context.Context, m mergeRequest) ([]forge.ExistingNote, error) {
	var all []note
	err := r.notes(ctx, m.Number, func(n note) {
		if n.Type == diffNote {
			all = append(all, n)
		}
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	viewer, err := r.forge.Viewer(ctx)
	if err != nil {
		return nil, err
	}
	var ours []forge.ExistingNote
	for _, n := range all {
		if n.Author.name() == viewer {
			outdated := n.Position != nil && n.Position.Head != m.Refs.Head
			ours = append(ours, forge.ExistingNote{ID: strconv.Itoa(n.ID), Body: n.Body, Outdated: outdated})
		}
	}
	return ours, nil
}

// requiresResolved reports whether the project requires resolved threads to merge. If so, only refusals stay open.
func (r *Repository) requiresResolved(ctx context.Context) (bool, error) {
	var project struct {
		Resolved bool `json:"only_allow_merge_if_all_discussions_are_resolved"`
	}
	err := r.Do(ctx, rest.Request{Op: "read project", Out: &project})
	return project.Resolved, err
}

func (r *Repository) startThread(ctx context.Context, m mergeRequest, n forge.Note, body string, atLine, resolved bool) error {
	position := map[string]any{
		"base_sha": m.Refs.Base, "start_sha": m.Refs.Start, "head_sha": m.Refs.Head,
		"old_path": n.File, "new_path": n.File, "position_type": "file",
	}
	if atLine {
		position["position_type"], position["new_line"] = "text", n.Line
	}
	var thread struct {
		ID string `json:"id"`
	}
	threads := rest.Path("merge_requests", m.Number, "discussions")
	err := r.Do(ctx, rest.Request{
		Op: "annotate pull request", Method: http.MethodPost, Path: threads, Out: &thread,
		In: map[string]any{"body": body, "position": position},
	})
	if err != nil || !resolved {
		return err
	}
	return r.Do(ctx, rest.Request{
		Op: "resolve annotation", Method: http.MethodPut, Path: threads + rest.Path(thread.ID), In: map[string]any{"resolved": true},
	})
}
