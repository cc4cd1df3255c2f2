package azuredevops

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

type label struct {
	ID   string `json:"id,omitempty"`
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
			Op: "add labels", Method: http.MethodPost, Path: pull(number, "labels"), In: label{Name: name}, Repeatable: true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveLabel removes a label from a pull request, by its id: the server does not accept each name in a path. Slashes separate
// segments even if they are escaped, and colons are refused as "potentially dangerous".
func (r *Repository) RemoveLabel(ctx context.Context, number int, name string) error {
	labels, err := r.labels(ctx, number)
	if err != nil {
		return err
	}
	which := name // the list can be late
	if i := slices.IndexFunc(labels, func(l label) bool { return strings.EqualFold(l.Name, name) }); i >= 0 {
		which = labels[i].ID
	} else if strings.ContainsAny(name, "/:") {
		return nil
	}
	return r.do(ctx, rest.Request{Op: "remove label", Method: http.MethodDelete, Path: pull(number, "labels", which), MissingOK: true})
}

// labels reads the labels of a pull request.
func (r *Repository) labels(ctx context.Context, number int) ([]label, error) {
	var found values[label]
	err := r.do(ctx, rest.Request{Op: "read labels", Path: pull(number, "labels"), Out: &found})
	return found.Value, err
}
