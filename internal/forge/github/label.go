package github

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// label is a label of a repository.
type label struct {
	Name        string `json:"name"`
	Color       string `json:"color,omitempty"`
	Description string `json:"description,omitempty"`
}

func labelNames(labels []label) []string {
	names := make([]string, 0, len(labels))
	for _, l := range labels {
		names = append(names, l.Name)
	}
	slices.Sort(names)
	return names
}

// EnsureLabel creates a label. A label that exists is not an error.
func (r *Repository) EnsureLabel(ctx context.Context, l forge.Label) error {
	err := r.Do(ctx, createLabel.write(http.MethodPost, "/labels", label{l.Name, cmp.Or(l.Color, forge.DefaultColor), l.Description}, nil))
	if says(err, http.StatusUnprocessableEntity, "already_exists") {
		return nil
	}
	return err
}

// AddLabels adds labels to a pull request.
func (r *Repository) AddLabels(ctx context.Context, number int, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return r.Do(ctx, addLabels.write(http.MethodPost, rest.Path("issues", number, "labels"), names, nil))
}

// RemoveLabel removes a label from a pull request. GitHub answers 404 if the pull request does not have it.
func (r *Repository) RemoveLabel(ctx context.Context, number int, label string) error {
	err := r.Do(ctx, removeLabel.remove(rest.Path("issues", number, "labels", label)))
	if says(err, http.StatusNotFound, "Label does not exist") {
		return nil
	}
	return err
}

// LabeledBy reads from a pull request's events who added a label last.
func (r *Repository) LabeledBy(ctx context.Context, number int, name string) (string, error) {
	type event struct {
		Event string `json:"event"`
		Actor user   `json:"actor"`
		Label label  `json:"label"`
	}
	who := ""
	err := rest.List(ctx, &r.Repository, readLabels.read(rest.Path("issues", number, "events"), nil), func(e event) bool {
		if strings.EqualFold(e.Label.Name, name) {
			who = ""
			if e.Event == "labeled" {
				who = e.Actor.Login
			}
		}
		return true
	})
	return who, err
}
