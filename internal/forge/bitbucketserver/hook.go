package bitbucketserver

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// hookEvents are the events that [forge.Event] knows. Bitbucket tells nothing of statuses.
var hookEvents = []string{
	"repo:refs_changed", "pr:opened", "pr:from_ref_updated", "pr:modified", "pr:reviewer:approved", "pr:reviewer:unapproved",
	"pr:reviewer:needs_work", "pr:merged", "pr:declined", "pr:comment:added", "pr:comment:edited",
}

// EnsureHook subscribes a URL.
func (r *Repository) EnsureHook(ctx context.Context, h forge.Hook) error {
	type hook struct {
		ID  int    `json:"id"`
		URL string `json:"url"`
	}
	existing := 0
	err := rest.List(ctx, &r.Repository, list(rest.Request{Op: "find hook", Right: adminRepository, Path: "/webhooks"}), func(found hook) bool {
		if found.URL == h.URL {
			existing = found.ID
		}
		return existing == 0
	})
	if err != nil {
		return err
	}
	request := rest.Request{
		Op: "create hook", Right: adminRepository, Method: http.MethodPost, Path: "/webhooks",
		In: map[string]any{
			"name": "kalypso", "url": h.URL, "active": true, "events": hookEvents,
			"configuration": map[string]any{"secret": h.Secret.Reveal()},
		},
	}
	if existing != 0 {
		request.Op, request.Method, request.Path = "edit hook", http.MethodPut, rest.Path("webhooks", existing)
	}
	return r.Do(ctx, request)
}

// payload holds the fields that all deliveries share.
type payload struct {
	Date        string `json:"date"`
	Actor       user   `json:"actor"`
	Repository  *place `json:"repository"`
	PullRequest *pull  `json:"pullRequest"`
	Changes     []struct {
		Ref struct {
			ID   string `json:"id"`
			Type string `json:"type"`
		} `json:"ref"`
		To   string `json:"toHash"`
		Type string `json:"type"`
	} `json:"changes"`
}

// VerifyWebhook checks that a delivery was signed with key, and returns its event. A push of several branches is one delivery; the event
// names the first.
func (*Forge) VerifyWebhook(header http.Header, body []byte, key forge.Secret) (forge.Event, error) {
	var p payload
	signature, _ := strings.CutPrefix(header.Get("X-Hub-Signature"), "sha256=")
	if err := forge.ReadSigned(signature, body, key, &p); err != nil {
		return forge.Event{}, err
	}
	e := forge.Event{
		Kind: kindOf(header.Get("X-Event-Key")), Repository: p.Repository.path(), Sender: p.Actor.Name, Delivery: header.Get("X-Request-Id"),
	}
	if at, err := time.Parse("2006-01-02T15:04:05-0700", p.Date); err == nil {
		e.Time = at
	}
	if e.Kind == forge.EventPush {
		e.Kind = forge.EventOther // unless it is of a branch
		for _, c := range p.Changes {
			if branch, ok := strings.CutPrefix(c.Ref.ID, heads); ok && c.Ref.Type == "BRANCH" {
				e.Kind, e.Branch, e.Commit = forge.EventPush, branch, c.To
				if c.Type == "DELETE" || strings.Trim(c.To, "0") == "" {
					e.Commit = ""
				}
				break
			}
		}
	}
	if p.PullRequest != nil {
		on := p.PullRequest.pullRequest()
		e.Repository = p.PullRequest.To.Repository.path()
		e.PullRequest, e.Branch, e.Commit = on.Number, on.Base.Branch, on.Head.Commit
	}
	return e, nil
}

func kindOf(key string) forge.EventKind {
	switch {
	case key == "repo:refs_changed":
		return forge.EventPush
	case strings.HasPrefix(key, "pr:comment:"):
		return forge.EventComment
	case strings.HasPrefix(key, "pr:"):
		return forge.EventPullRequest
	case key == "diagnostics:ping":
		return forge.EventPing
	}
	return forge.EventOther
}
