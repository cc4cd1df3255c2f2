package bitbucket

import (
	"context"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// hookEvents are the events that [forge.Event] knows.
var hookEvents = []string{
	"repo:push", "repo:commit_status_created", "repo:commit_status_updated", "pullrequest:created", "pullrequest:updated", "pullrequest:approved",
	"pullrequest:unapproved", "pullrequest:changes_request_created", "pullrequest:changes_request_removed", "pullrequest:fulfilled",
	"pullrequest:rejected", "pullrequest:comment_created", "pullrequest:comment_updated",
}

// EnsureHook subscribes a URL.
func (r *Repository) EnsureHook(ctx context.Context, h forge.Hook) error {
	type hook struct {
		UUID string `json:"uuid"`
		URL  string `json:"url"`
	}
	existing := ""
	err := rest.List(ctx, &r.Repository, list(rest.Request{Op: "find hook", Right: writeWebhooks, Path: "/hooks"}), func(found hook) bool {
		if found.URL == h.URL {
			existing = found.UUID
		}
		return existing == ""
	})
	if err != nil {
		return err
	}
	request := rest.Request{
		Op: "create hook", Right: writeWebhooks, Method: http.MethodPost, Path: "/hooks",
		In: map[string]any{"description": "kalypso", "url": h.URL, "active": true, "events": hookEvents, "secret": h.Secret.Reveal()},
	}
	if existing != "" {
		request.Op, request.Method, request.Path = "edit hook", http.MethodPut, rest.Path("hooks", existing)
	}
	return r.Do(ctx, request)
}

// payload holds the fields that all deliveries share.
type payload struct {
	Actor       *user `json:"actor"`
	Repository  place `json:"repository"`
	PullRequest *pull `json:"pullrequest"`
	Push        struct {
		Changes []struct {
			New *branchAt `json:"new"`
			Old *branchAt `json:"old"`
		} `json:"changes"`
	} `json:"push"`
	Status struct {
		UpdatedOn time.Time `json:"updated_on"`
		Links     struct {
			Commit struct {
				Href string `json:"href"`
			} `json:"commit"`
		} `json:"links"`
	} `json:"commit_status"`
}

// branchAt is a branch or tag before or after a push.
type branchAt struct {
	Type   string `json:"type"`
	Name   string `json:"name"`
	Target commit `json:"target"`
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
		Kind: kindOf(header.Get("X-Event-Key")), Repository: p.Repository.FullName, Sender: p.Actor.login(), Delivery: header.Get("X-Request-Uuid"),
	}
	switch e.Kind {
	case forge.EventPush:
		e.Kind = forge.EventOther // unless it is of a branch
		for _, c := range p.Push.Changes {
			if c.New != nil && c.New.Type == "branch" {
				e.Kind, e.Branch, e.Commit = forge.EventPush, c.New.Name, c.New.Target.Hash
				break
			}
			if c.New == nil && c.Old != nil && c.Old.Type == "branch" {
				e.Kind, e.Branch = forge.EventPush, c.Old.Name
				break
			}
		}
	case forge.EventStatus:
		e.Time = p.Status.UpdatedOn
		if href := p.Status.Links.Commit.Href; href != "" {
			e.Commit = path.Base(href)
		}
	}
	if on := p.PullRequest; on != nil {
		e.PullRequest, e.Branch, e.Commit = on.ID, on.Destination.Branch.Name, on.Source.Commit.Hash
		e.Time = on.UpdatedOn
	}
	return e, nil
}

func kindOf(key string) forge.EventKind {
	switch {
	case key == "repo:push":
		return forge.EventPush
	case strings.HasPrefix(key, "repo:commit_status_"):
		return forge.EventStatus
	case strings.HasPrefix(key, "pullrequest:comment_"):
		return forge.EventComment
	case strings.HasPrefix(key, "pullrequest:"):
		return forge.EventPullRequest
	}
	return forge.EventOther
}
