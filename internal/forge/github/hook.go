package github

import (
	"context"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// hookEvents are the events that [forge.Event] knows.
var hookEvents = []string{"push", "pull_request", "issue_comment", "status", "check_suite", "pull_request_review", "merge_group"}

// EnsureHook subscribes a URL. The secret cannot be read, so it is set each time.
func (r *Repository) EnsureHook(ctx context.Context, h forge.Hook) error {
	type hook struct {
		ID     int64 `json:"id"`
		Config struct {
			URL string `json:"url"`
		} `json:"config"`
	}
	existing, err := rest.Select(ctx, &r.Repository, findHook.read("/hooks", nil), func(found hook) hook { return found },
		func(found hook) bool { return found.Config.URL == h.URL }, 1)
	if err != nil {
		return err
	}
	in := map[string]any{
		"active": true, "events": hookEvents,
		"config": map[string]string{"url": h.URL, "content_type": "json", "secret": h.Secret.Reveal(), "insecure_ssl": "0"},
	}
	if len(existing) > 0 {
		return r.Do(ctx, setHook.write(http.MethodPatch, rest.Path("hooks", existing[0].ID), in, nil))
	}
	in["name"] = "web"
	return r.Do(ctx, setHook.write(http.MethodPost, "/hooks", in, nil))
}
