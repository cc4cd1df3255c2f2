package gitea

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

type label struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// EnsureLabel creates a label that the repository does not have.
func (r *Repository) EnsureLabel(ctx context.Context, l forge.Label) error {
	found := false
	err := rest.List(ctx, &r.Repository, rest.Request{Op: "find label", Path: "/labels"}, func(existing label) bool {
		found = strings.EqualFold(existing.Name, l.Name)
		return !found
	})
	if err != nil || found {
		return err
	}
	// A conflict means that another client created it meanwhile.
	return forge.Ignore(r.Do(ctx, rest.Request{
		Op: "create label", Right: writeIssue, Method: http.MethodPost, Path: "/labels",
		In: map[string]any{"name": l.Name, "color": "#" + cmp.Or(l.Color, forge.DefaultColor), "description": l.Description},
	}), forge.ErrConflict)
}

// AddLabels adds labels to a pull request, by name.
func (r *Repository) AddLabels(ctx context.Context, number int, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return r.Do(ctx, rest.Request{
		Op: "add labels", Right: writeIssue, Method: http.MethodPost, Path: rest.Path("issues", number, "labels"),
		In: map[string]any{"labels": names}, Repeatable: true,
	})
}

// RemoveLabel removes a label from a pull request.
func (r *Repository) RemoveLabel(ctx context.Context, number int, name string) error {
	var labels []label
	err := r.Do(ctx, rest.Request{Op: "read labels", Path: rest.Path("issues", number, "labels"), Out: &labels})
	if err != nil {
		return err
	}
	for _, l := range labels {
		if !strings.EqualFold(l.Name, name) {
			continue
		}
		path := rest.Path("issues", number, "labels", l.ID)
		if err := r.Do(ctx, rest.Request{Op: "remove label", Right: writeIssue, Method: http.MethodDelete, Path: path}); err != nil {
			return err
		}
	}
	return nil
}

// LabeledBy reads from the timeline who added a label last. An entry's body is "1" if the label was added.
func (r *Repository) LabeledBy(ctx context.Context, number int, name string) (string, error) {
	who := ""
	err := r.timeline(ctx, number, func(e event) {
		if e.Type != "label" || e.Label == nil || !strings.EqualFold(e.Label.Name, name) {
			return
		}
		who = ""
		if e.Body == "1" {
			who = e.User.Login
		}
	})
	return who, err
}
