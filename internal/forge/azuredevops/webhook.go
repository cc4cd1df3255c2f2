package azuredevops

import (
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// payload holds the fields that all deliveries share.
type payload struct {
	ID        string    `json:"id"`
	EventType string    `json:"eventType"`
	CreatedAt time.Time `json:"createdDate"`
	Resource  struct {
		pullRequest
		Repository  repository `json:"repository"`
		PushedBy    *identity  `json:"pushedBy"`
		Updates     []update   `json:"refUpdates"`
		Comment     *comment   `json:"comment"`
		PullRequest *struct {
			pullRequest
			Repository repository `json:"repository"`
		} `json:"pullRequest"`
	} `json:"resource"`
}

type repository struct {
	RemoteURL string `json:"remoteUrl"`
}

// update is a push's effect on a ref.
type update struct {
	Name  string `json:"name"`
	After string `json:"newObjectId"`
}

// VerifyWebhook checks that a delivery comes from a subscription with our secret as its password, and returns its event.
// The password does not cover the delivery's content: anyone who has seen one delivery can forge others.
//
// A push of several branches is one delivery; the event names the first.
func (f *Forge) VerifyWebhook(header http.Header, body []byte, key forge.Secret) (forge.Event, error) {
	var p payload
	err := forge.ReadDelivery(body, &p, authentic(header, key), "the password is not our secret",
		"give the subscription the user name "+hookUser+" and the secret of the configuration as its password")
	if err != nil {
		return forge.Event{}, err
	}
	e := forge.Event{Kind: forge.EventOther, Delivery: p.ID, Time: p.CreatedAt}
	at := p.locate(&e)
	if id, err := f.site.Repository(strings.ReplaceAll(at.RemoteURL, " ", "%20")); err == nil {
		e.Repository = id.Path
	}
	return e, nil
}

// authentic compares passwords in constant time. It rejects everything if no secret is set.
func authentic(header http.Header, key forge.Secret) bool {
	user, password, ok := (&http.Request{Header: header}).BasicAuth()
	same := subtle.ConstantTimeCompare([]byte(password), []byte(key.Reveal())) == 1
	return ok && same && user == hookUser && !key.IsZero()
}

// locate fills in the event's kind and location.
func (p payload) locate(e *forge.Event) repository {
	resource := p.Resource
	at, on := resource.Repository, resource.pullRequest
	switch p.EventType {
	case pushed:
		e.Sender = resource.PushedBy.name()
		for _, u := range resource.Updates {
			if branch, ok := strings.CutPrefix(u.Name, heads); ok {
				e.Kind, e.Branch, e.Commit = forge.EventPush, branch, strings.TrimPrefix(u.After, none)
				break
			}
		}
		return at
	case opened:
		e.Kind, e.Sender = forge.EventPullRequest, on.CreatedBy.name()
	case updated, merged:
		e.Kind, e.Sender = forge.EventPullRequest, on.ClosedBy.name()
	case commented:
		e.Kind = forge.EventComment
		if resource.Comment != nil {
			e.Sender = resource.Comment.Author.name()
		}
		if resource.PullRequest != nil {
			at, on = resource.PullRequest.Repository, resource.PullRequest.pullRequest
		}
	default:
		return at
	}
	e.PullRequest, e.Branch, e.Commit = on.Number, strings.TrimPrefix(on.Target, heads), on.Head.ID
	return at
}
