package gitea

import (
	"context"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// hookEvents are the events that [forge.Event] knows. "pull_request" includes all events about pull requests.
var hookEvents = []string{
	"push", "create", "delete", "pull_request", "pull_request_label", "pull_request_sync", "pull_request_comment",
	"issue_comment", "status",
}

// EnsureHook subscribes a URL.
func (r *Repository) EnsureHook(ctx context.Context, h forge.Hook) error {
	type hook struct {
		ID     int               `json:"id"`
		Config map[string]string `json:"config"`
	}
	existing := 0
	err := rest.List(ctx, &r.Repository, rest.Request{Op: "find hook", Path: "/hooks"}, func(found hook) bool {
		if found.Config["url"] == h.URL {
			existing = found.ID
		}
		return existing == 0
	})
	if err != nil {
		return err
	}
	request := rest.Request{
		Op: "create hook", Method: http.MethodPost, Path: "/hooks",
		In: map[string]any{
			"type": "gitea", "active": true, "branch_filter": "*", "events": hookEvents,
			"config": map[string]string{"url": h.URL, "content_type": "json", "secret": h.Secret.Reveal()},
		},
	}
	if existing == 0 {
		return r.Do(ctx, request)
	}
	// The API cannot change a hook's secret.
	if err := r.Do(ctx, rest.Request{Op: "replace hook", Method: http.MethodDelete, Path: rest.Path("hooks", existing)}); err != nil {
		return err
	}
	return r.Do(ctx, request)
}
