package gitlab

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// EnsureLabel creates a label that neither the project nor its groups have.
func (r *Repository) EnsureLabel(ctx context.Context, l forge.Label) error {
	err := r.Do(ctx, rest.Request{Op: "find label", Path: rest.Path("labels", l.Name)})
	if !errors.Is(err, forge.ErrNotFound) {
		return err
	}
	// A conflict means that another client created it meanwhile.
	return forge.Ignore(r.Do(ctx, rest.Request{
		Op: "create label", Method: http.MethodPost, Path: "/labels",
		In: map[string]any{"name": l.Name, "color": "#" + cmp.Or(l.Color, forge.DefaultColor), "description": l.Description},
	}), forge.ErrConflict)
}

// AddLabels adds labels to a merge request.
func (r *Repository) AddLabels(ctx context.Context, number int, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return r.Do(ctx, rest.Request{
		Op: "add labels", Method: http.MethodPut, Path: rest.Path("merge_requests", number),
		In: map[string]any{"add_labels": strings.Join(names, ",")},
	})
}

// RemoveLabel removes a label from a merge request.
func (r *Repository) RemoveLabel(ctx context.Context, number int, name string) error {
	return r.Do(ctx, rest.Request{
		Op: "remove label", Method: http.MethodPut, Path: rest.Path("merge_requests", number),
		In: map[string]any{"remove_labels": name},
	})
}

// LabeledBy reads who added a label last. Events of deleted labels do not name the label.
func (r *Repository) LabeledBy(ctx context.Context, number int, name string) (string, error) {
	type event struct {
		User   *user  `json:"user"`
		Action string `json:"action"`
		Label  *struct {
			Name string `json:"name"`
		} `json:"label"`
	}
	who := ""
	path := rest.Path("merge_requests", number, "resource_label_events")
	err := rest.List(ctx, &r.Repository, rest.Request{Op: "read label events", Path: path}, func(e event) bool {
		if e.Label != nil && strings.EqualFold(e.Label.Name, name) {
			who = ""
			if e.Action == "add" {
				who = e.User.name()
			}
		}
		return true
	})
	return who, err
}
