package azuredevops

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// The events that are delivered. Azure DevOps has none for labels and statuses.
const (
	pushed    = "git.push"
	opened    = "git.pullrequest.created"
	updated   = "git.pullrequest.updated"
	merged    = "git.pullrequest.merged" // or attempted to
	commented = "ms.vss-code.git-pullrequest-comment-event"
)

var events = []string{pushed, opened, updated, merged, commented}

// hookUser is the user name that subscriptions send; the hook's secret is the password.
const hookUser = "kalypso"

// subscription makes the forge deliver one kind of event to a URL.
type subscription struct {
	ID               string            `json:"id,omitempty"`
	PublisherID      string            `json:"publisherId"`
	EventType        string            `json:"eventType"`
	ResourceVersion  string            `json:"resourceVersion"`
	ConsumerID       string            `json:"consumerId"`
	ConsumerActionID string            `json:"consumerActionId"`
	PublisherInputs  map[string]string `json:"publisherInputs"`
	ConsumerInputs   map[string]string `json:"consumerInputs"`
}

// EnsureHook subscribes a URL, once for each kind of event. Passwords cannot be read, so they are set each time.
func (r *Repository) EnsureHook(ctx context.Context, h forge.Hook) error {
	ids, err := r.ids(ctx)
	if err != nil {
		return err
	}
	var existing values[subscription]
	err = r.inOrganization(ctx, rest.Request{
		Op: "find hook", Query: url.Values{"publisherId": {"tfs"}, "consumerId": {"webHooks"}}, Out: &existing,
	}, "")
	if err != nil {
		return err
	}
	known := map[string]string{}
	for _, s := range existing.Value {
		if s.ConsumerInputs["url"] == h.URL && s.PublisherInputs["repository"] == ids.Repository {
			known[s.EventType] = s.ID
		}
	}
	for _, event := range events {
		q := rest.Request{Op: "create hook", Method: http.MethodPost, In: subscribe(event, ids, h)}
		if known[event] != "" {
			q.Op, q.Method = "edit hook", http.MethodPut
		}
		if err := r.inOrganization(ctx, q, known[event]); err != nil {
			return err
		}
	}
	return nil
}

func subscribe(event string, ids ids, h forge.Hook) subscription {
	version := "1.0"
	if event == commented {
		version = "2.0" // before, the resource is the comment alone, without its pull request
	}
	return subscription{
		PublisherID: "tfs", EventType: event, ResourceVersion: version, ConsumerID: "webHooks", ConsumerActionID: "httpRequest",
		PublisherInputs: map[string]string{"projectId": ids.Project, "repository": ids.Repository},
		ConsumerInputs: map[string]string{
			"url": h.URL, "basicAuthUsername": hookUser, "basicAuthPassword": h.Secret.Reveal(),
			"resourceDetailsToSend": "all", "messagesToSend": "none", "detailedMessagesToSend": "none",
		},
	}
}

// inOrganization sends a request about the organization's subscriptions, or about one of them.
func (r *Repository) inOrganization(ctx context.Context, q rest.Request, id string) error {
	q.Where, q.Right = r.Of.String(), hooks
	q.Path = rest.Path(r.organization, "_apis", "hooks", "subscriptions")
	if id != "" {
		q.Path += rest.Path(id)
	}
	return r.Client.Do(ctx, q)
}
