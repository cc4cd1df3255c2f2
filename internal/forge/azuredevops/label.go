package azuredevops

import (
	"context"
	"net/http"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

type label struct {
	Name string `json:"name"`
}

func labelNames(labels []label) []string {
	names := make([]string, 0, len(labels))
	for _, l := range labels {
		names = append(names, l.Name)
	}
	slices.Sort(names)
	return names
}

// EnsureLabel does nothing. Labels are created when they are added, and have neither color nor description.
func (r *Repository) EnsureLabel(context.Context, forge.Label) error { return nil }

// AddLabels adds labels to a pull request, one by one. Adding a label twice has no effect.
func (r *Repository) AddLabels(ctx context.Context, number int, names ...string) error {
	for _, name := range names {
		err := r.do(ctx, rest.Request{
			Op: "add labels", Method: http.MethodPost, Path: pull(number, "labels"), In: label{name}, Repeatable: true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveLabel removes a label from a pull request.
func (r *Repository) RemoveLabel(ctx context.Context, number int, name string) error {
	return r.do(ctx, rest.Request{Op: "remove label", Method: http.MethodDelete, Path: pull(number, "labels", name), MissingOK: true})
}
