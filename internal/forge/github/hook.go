package github

import (
	"context"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// hookEvents are the events that [forge.Event] knows.
var hookEvents = []string{"push", "pull_request", "issue_comment", "status", "check_suite", "pull_request_review"}

// EnsureHook subscribes a URL. The secret cannot be read, so it is set each time.
func (r *Repository) EnsureHook(ctx context.Context, h forge.Hook) error {
	var existing *github.Hook
	for found, err := range r.forge.client.Repositories.ListHooksIter(findHook.on(ctx), r.owner, r.name, new(perPage)) {
		if err != nil {
			return r.explain(findHook, nil, err)
		}
		if found.GetConfig().GetURL() == h.URL {
			existing = found
			break
		}
	}
	hook := &github.Hook{
		Active: new(true), Events: hookEvents,
		Config: &github.HookConfig{URL: &h.URL, ContentType: new("json"), Secret: new(h.Secret.Reveal()), InsecureSSL: new("0")},
	}
	if existing != nil {
		_, answer, err := r.forge.client.Repositories.EditHook(setHook.on(ctx), r.owner, r.name, existing.GetID(), hook)
		return r.explain(setHook, answer, err)
	}
	_, answer, err := r.forge.client.Repositories.CreateHook(setHook.on(ctx), r.owner, r.name, hook)
	return r.explain(setHook, answer, err)
}
