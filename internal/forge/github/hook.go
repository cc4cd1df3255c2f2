package github

import (
	"context"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// hookEvents are the events that [forge.Event] knows.
var hookEvents = []string{"push", "pull_request", "issue_comment", "status"}

// EnsureHook subscribes a URL. The secret cannot be read, so it is set each time.
func (r *Repository) EnsureHook(ctx context.Context, h forge.Hook) error {
	owner, name := r.names()
	var existing *github.Hook
	err := pages(ctx, r, findHook, func(ctx context.Context, at github.ListOptions) ([]*github.Hook, *github.Response, error) {
		return r.forge.client.Repositories.ListHooks(ctx, owner, name, &at)
	}, func(found *github.Hook) bool {
		if found.GetConfig().GetURL() == h.URL {
			existing = found
		}
		return existing == nil
	})
	if err != nil {
		return err
	}
	hook := &github.Hook{
		Active: new(true), Events: hookEvents,
		Config: &github.HookConfig{URL: &h.URL, ContentType: new("json"), Secret: new(h.Secret.Reveal()), InsecureSSL: new("0")},
	}
	if existing != nil {
		_, answer, err := r.forge.client.Repositories.EditHook(setHook.on(ctx), owner, name, existing.GetID(), hook)
		return r.explain(setHook, answer, err)
	}
	_, answer, err := r.forge.client.Repositories.CreateHook(setHook.on(ctx), owner, name, hook)
	return r.explain(setHook, answer, err)
}
