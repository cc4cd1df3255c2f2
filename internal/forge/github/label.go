package github

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// EnsureLabel creates a label. A label that exists is not an error.
func (r *Repository) EnsureLabel(ctx context.Context, l forge.Label) error {
	if l.Color == "" {
		l.Color = forge.DefaultColor
	}
	owner, name := r.names()
	_, answer, err := r.forge.client.Issues.CreateLabel(createLabel.on(ctx), owner, name, github.CreateIssueLabelRequest{
		Name: l.Name, Color: &l.Color, Description: &l.Description,
	})
	var said *github.ErrorResponse
	if errors.As(err, &said) {
		for _, e := range said.Errors {
			if e.Code == "already_exists" {
				return nil
			}
		}
	}
	return r.explain(createLabel, answer, err)
}

// AddLabels adds labels to a pull request.
func (r *Repository) AddLabels(ctx context.Context, change int, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	owner, name := r.names()
	_, answer, err := r.forge.client.Issues.AddLabelsToIssue(addLabels.on(ctx), owner, name, change, names)
	return r.explain(addLabels, answer, err)
}

// RemoveLabel removes a label from a pull request. GitHub answers 404 if the pull request does not have it.
func (r *Repository) RemoveLabel(ctx context.Context, change int, label string) error {
	owner, name := r.names()
	// The client escapes branches but not labels, which can contain slashes as well.
	answer, err := r.forge.client.Issues.RemoveLabelForIssue(removeLabel.on(ctx), owner, name, change, url.PathEscape(label))
	if answer != nil && answer.StatusCode == http.StatusNotFound && strings.Contains(message(err), "Label does not exist") {
		return nil
	}
	return r.explain(removeLabel, answer, err)
}

// LabeledBy reads from a pull request's events who added a label last.
func (r *Repository) LabeledBy(ctx context.Context, change int, label string) (string, error) {
	owner, name := r.names()
	who := ""
	err := pages(ctx, r, readLabels, func(ctx context.Context, at github.ListOptions) ([]*github.IssueEvent, *github.Response, error) {
		return r.forge.client.Issues.ListIssueEvents(ctx, owner, name, change, &at)
	}, func(e *github.IssueEvent) bool {
		if strings.EqualFold(e.GetLabel().GetName(), label) {
			who = ""
			if e.GetEvent() == "labeled" {
				who = e.GetActor().GetLogin()
			}
		}
		return true
	})
	return who, err
}
