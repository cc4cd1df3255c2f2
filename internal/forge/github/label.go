package github

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// EnsureLabel creates a label. A label that exists is not an error.
func (r *Repository) EnsureLabel(ctx context.Context, l forge.Label) error {
	_, answer, err := r.forge.client.Issues.CreateLabel(createLabel.on(ctx), r.owner, r.name, github.CreateIssueLabelRequest{
		Name: l.Name, Color: new(cmp.Or(l.Color, forge.DefaultColor)), Description: &l.Description,
	})
	var response *github.ErrorResponse
	if errors.As(err, &response) && slices.ContainsFunc(response.Errors, func(e github.Error) bool { return e.Code == "already_exists" }) {
		return nil
	}
	return r.explain(createLabel, answer, err)
}

// AddLabels adds labels to a pull request.
func (r *Repository) AddLabels(ctx context.Context, number int, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	_, answer, err := r.forge.client.Issues.AddLabelsToIssue(addLabels.on(ctx), r.owner, r.name, number, names)
	return r.explain(addLabels, answer, err)
}

// RemoveLabel removes a label from a pull request. GitHub answers 404 if the pull request does not have it.
func (r *Repository) RemoveLabel(ctx context.Context, number int, label string) error {
	// The client escapes branches but not labels, which can contain slashes as well.
	answer, err := r.forge.client.Issues.RemoveLabelForIssue(removeLabel.on(ctx), r.owner, r.name, number, url.PathEscape(label))
	if answer != nil && answer.StatusCode == http.StatusNotFound && strings.Contains(message(err), "Label does not exist") {
		return nil
	}
	return r.explain(removeLabel, answer, err)
}

// LabeledBy reads from a pull request's events who added a label last.
func (r *Repository) LabeledBy(ctx context.Context, number int, label string) (string, error) {
	who := ""
	for e, err := range r.forge.client.Issues.ListIssueEventsIter(readLabels.on(ctx), r.owner, r.name, number, new(perPage)) {
		if err != nil {
			return "", r.explain(readLabels, nil, err)
		}
		if strings.EqualFold(e.GetLabel().GetName(), label) {
			who = ""
			if e.GetEvent() == "labeled" {
				who = e.GetActor().GetLogin()
			}
		}
	}
	return who, nil
}
