package azuredevopstest

import (
	"fmt"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// subscription makes the forge deliver one kind of event.
type subscription struct {
	ID              string            `json:"id"`
	EventType       string            `json:"eventType"`
	ResourceVersion string            `json:"resourceVersion"`
	PublisherInputs map[string]string `json:"publisherInputs"`
	ConsumerInputs  map[string]string `json:"consumerInputs"`
}

// listSubscriptions leaves out passwords.
func (c *call) listSubscriptions() {
	c.list(forgetest.Shapes(c.subscriptions, func(s *subscription) map[string]any {
		return map[string]any{
			"id": s.ID, "eventType": s.EventType, "publisherInputs": s.PublisherInputs,
			"consumerInputs": map[string]any{"url": s.ConsumerInputs["url"], "basicAuthPassword": "********"},
		}
	}))
}

func (c *call) subscribe() {
	s := &subscription{}
	c.Read(s)
	repo := c.byID(s.PublisherInputs["repository"])
	if repo == nil {
		c.refuse(http.StatusBadRequest, "SubscriptionInputException", "The repository is not there.")
		return
	}
	s.ID = guid(3, c.next())
	c.subscriptions = append(c.subscriptions, s)
	if len(repo.Hooks) == 0 {
		repo.Hooks = []forge.Hook{{}} // the receivers are in the subscriptions
	}
	c.JSON(http.StatusOK, s)
}

func (c *call) resubscribe() {
	for _, s := range c.subscriptions {
		if s.ID == c.PathValue("subscription") {
			c.Read(s)
			s.ID = c.PathValue("subscription")
			c.JSON(http.StatusOK, s)
			return
		}
	}
	c.refuse(http.StatusNotFound, "SubscriptionNotFoundException", "The subscription was not found.")
}

// Subscriptions returns the number of subscriptions.
func (s *Server) Subscriptions() int {
	s.World.Lock()
	defer s.World.Unlock()
	return len(s.subscriptions)
}

// deliver sends an event to its subscriptions, in the forge's format.
func (s *Server) deliver(r *forgetest.Repo, _ forge.Hook, e forgetest.Event) {
	event, resource := s.resource(r, e)
	for _, sub := range s.subscriptions {
		if sub.EventType != event || sub.PublisherInputs["repository"] != guid(1, r.ID) {
			continue
		}
		if sub.ResourceVersion == "1.0" && e.Kind == forge.EventComment {
			resource, _ = resource["comment"].(map[string]any)
		}
		forgetest.Post(sub.ConsumerInputs["url"], map[string]any{
			"subscriptionId": sub.ID, "notificationId": 1, "id": fmt.Sprintf("delivery-%d-%s", s.next(), event), "eventType": event,
			"publisherId": "tfs", "resource": resource, "createdDate": "2030-01-02T03:04:05.678Z",
		}, func(r *http.Request, _ []byte) {
			r.SetBasicAuth(sub.ConsumerInputs["basicAuthUsername"], sub.ConsumerInputs["basicAuthPassword"])
		})
	}
}

func (s *Server) resource(r *forgetest.Repo, e forgetest.Event) (event string, resource map[string]any) {
	c := &call{Server: s, Call: &forgetest.Call{Repo: r}, more: s.extra(r)}
	switch e.Kind {
	case forge.EventPush:
		after := e.Commit
		if after == "" {
			after = none
		}
		return "git.push", map[string]any{
			"refUpdates": []map[string]any{{"name": heads + e.Branch, "newObjectId": after}}, "pushedBy": account(e.Actor), "repository": s.shape(r),
		}
	case forge.EventPullRequest:
		event = "git.pullrequest.updated"
		if e.Action == "opened" {
			event = "git.pullrequest.created"
		}
		if e.PullRequest.State == forge.Merged {
			event = "git.pullrequest.merged"
		}
		return event, c.pull(e.PullRequest)
	case forge.EventComment:
		return "ms.vss-code.git-pullrequest-comment-event", map[string]any{
			"comment": map[string]any{"id": 1, "author": account(e.Actor), "content": "text"}, "pullRequest": c.pull(e.PullRequest),
		}
	}
	return "", nil
}
