package gitlab

import (
	"context"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// EnsureHook subscribes a URL. The forge signs its deliveries, or sends the secret as a token if it cannot sign.
func (r *Repository) EnsureHook(ctx context.Context, h forge.Hook) error {
	type hook struct {
		ID  int    `json:"id"`
		URL string `json:"url"`
	}
	existing := 0
	err := rest.List(ctx, &r.Repository, rest.Request{Op: "find hook", Right: maintainer, Path: "/hooks"}, func(found hook) bool {
		if found.URL == h.URL {
			existing = found.ID
		}
		return existing == 0
	})
	if err != nil {
		return err
	}
	request := rest.Request{
		Op: "create hook", Right: maintainer, Method: http.MethodPost, Path: "/hooks",
		In: map[string]any{
			"url": h.URL, "token": h.Secret.Reveal(), "signing_token": signingToken(h.Secret).Reveal(),
			"push_events": true, "merge_requests_events": true, "note_events": true, "pipeline_events": true,
		},
	}
	if existing != 0 {
		request.Op, request.Method, request.Path = "edit hook", http.MethodPut, rest.Path("hooks", existing)
	}
	return r.Do(ctx, request)
}
