package gitlab

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// EnsureLabel creates a label that neither the project nor its groups have.
func (r *Repository) EnsureLabel(ctx context.Context, l forge.Label) error {
	err := r.do(ctx, rest.Request{Op: "find label", Path: "/labels" + rest.Path(l.Name)})
	if !errors.Is(err, forge.ErrNotFound) {
		return err
	}
	if l.Color == "" {
		l.Color = forge.DefaultColor
	}
	err = r.do(ctx, rest.Request{
		Op: "create label", Method: http.MethodPost, Path: "/labels",
		In: map[string]any{"name": l.Name, "color": "#" + l.Color, "description": l.Description},
	})
	if errors.Is(err, forge.ErrConflict) {
		return nil // created by another client meanwhile
	}
	return err
}

// AddLabels adds labels to a merge request.
func (r *Repository) AddLabels(ctx context.Context, change int, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return r.do(ctx, rest.Request{
		Op: "add labels", Method: http.MethodPut, Path: numbered("/merge_requests", change),
		In: map[string]any{"add_labels": strings.Join(names, ",")},
	})
}

// RemoveLabel removes a label from a merge request.
func (r *Repository) RemoveLabel(ctx context.Context, change int, name string) error {
	return r.do(ctx, rest.Request{
		Op: "remove label", Method: http.MethodPut, Path: numbered("/merge_requests", change),
		In: map[string]any{"remove_labels": name},
	})
}

// LabeledBy reads who added a label last. Events of deleted labels do not name the label.
func (r *Repository) LabeledBy(ctx context.Context, change int, name string) (string, error) {
	type event struct {
		User   *user  `json:"user"`
		Action string `json:"action"`
		Label  *struct {
			Name string `json:"name"`
		} `json:"label"`
	}
	who := ""
	path := numbered("/merge_requests", change, "resource_label_events")
	err := list(ctx, r, rest.Request{Op: "read label events", Path: path}, func(e event) bool {
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
