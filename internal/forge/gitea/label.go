package gitea

import (
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
	err := list(ctx, r, rest.Request{Op: "find label", Path: "/labels"}, func(existing label) bool {
		found = strings.EqualFold(existing.Name, l.Name)
		return !found
	})
	if err != nil || found {
		return err
	}
	if l.Color == "" {
		l.Color = forge.DefaultColor
	}
	return r.do(ctx, rest.Request{
		Op: "create label", Right: writeIssue, Method: http.MethodPost, Path: "/labels",
		In: map[string]any{"name": l.Name, "color": "#" + l.Color, "description": l.Description},
	})
}

// AddLabels adds labels to a pull request, by name.
func (r *Repository) AddLabels(ctx context.Context, change int, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return r.do(ctx, rest.Request{
		Op: "add labels", Right: writeIssue, Method: http.MethodPost, Path: numbered("/issues", change, "labels"),
		In: map[string]any{"labels": names}, Repeatable: true,
	})
}

// RemoveLabel removes a label from a pull request.
func (r *Repository) RemoveLabel(ctx context.Context, change int, name string) error {
	var labels []label
	err := r.do(ctx, rest.Request{Op: "read labels", Path: numbered("/issues", change, "labels"), Out: &labels})
	if err != nil {
		return err
	}
	for _, l := range labels {
		if !strings.EqualFold(l.Name, name) {
			continue
		}
		path := numbered(numbered("/issues", change, "labels"), l.ID)
		if err := r.do(ctx, rest.Request{Op: "remove label", Right: writeIssue, Method: http.MethodDelete, Path: path}); err != nil {
			return err
		}
	}
	return nil
}

// LabeledBy reads from the timeline who added a label last. An entry's body is "1" if the label was added.
func (r *Repository) LabeledBy(ctx context.Context, change int, name string) (string, error) {
	who := ""
	err := r.timeline(ctx, change, func(e event) {
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
