package gitea

import (
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// payload holds the fields that all deliveries share.
type payload struct {
	Ref         string    `json:"ref"`
	RefType     string    `json:"ref_type"`
	After       string    `json:"after"`
	SHA         string    `json:"sha"`
	Number      int       `json:"number"`
	IsPull      bool      `json:"is_pull"`
	PullRequest *pull     `json:"pull_request"`
	Issue       *issue    `json:"issue"`
	UpdatedAt   time.Time `json:"updated_at"`
	Repository  struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
	Sender user `json:"sender"`
}

// VerifyWebhook checks that a delivery was signed with key, and returns its event.
func (*Forge) VerifyWebhook(header http.Header, body []byte, key forge.Secret) (forge.Event, error) {
	var p payload
	if err := forge.ReadSigned(header.Get("X-Gitea-Signature"), body, key, &p); err != nil {
		return forge.Event{}, err
	}
	e := forge.Event{
		Kind: kindOf(header), Repository: p.Repository.FullName, Sender: p.Sender.Login, Delivery: header.Get("X-Gitea-Delivery"),
		Time: p.UpdatedAt,
	}
	p.locate(&e)
	return e, nil
}

func kindOf(header http.Header) forge.EventKind {
	switch kind := header.Get("X-Gitea-Event-Type"); {
	case kind == "push", kind == "create", kind == "delete":
		return forge.EventPush
	case kind == "pull_request_label":
		return forge.EventLabel
	case kind == "pull_request_comment", kind == "issue_comment":
		return forge.EventComment
	case strings.HasPrefix(kind, "pull_request"): // also its reviews
		return forge.EventPullRequest
	case kind == "status":
		return forge.EventStatus
	}
	return forge.EventOther
}

// locate fills in the event's location.
func (p payload) locate(e *forge.Event) {
	switch e.Kind {
	case forge.EventPush:
		branch, isBranch := strings.CutPrefix(p.Ref, "refs/heads/")
		switch {
		case p.RefType == "branch":
			e.Branch, e.Commit = p.Ref, p.SHA
		case isBranch:
			e.Branch = branch
			if strings.Trim(p.After, "0") != "" {
				e.Commit = p.After
			}
		default:
			e.Kind = forge.EventOther // a tag
		}
	case forge.EventStatus:
		e.Commit = p.SHA
	case forge.EventComment:
		if p.Issue != nil && p.IsPull {
			e.PullRequest = p.Issue.Number
		}
	}
	if p.PullRequest != nil {
		on := p.PullRequest.pullRequest()
		e.PullRequest, e.Branch, e.Commit = on.Number, on.Base.Branch, on.Head.Commit
	}
}
