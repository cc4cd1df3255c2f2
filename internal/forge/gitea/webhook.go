package gitea

import (
	"encoding/json"
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

// VerifyWebhook checks a delivery's signature and returns its event.
func (f *Forge) VerifyWebhook(header http.Header, body []byte, key forge.Secret) (forge.Event, error) {
	return VerifyWebhook(header, body, key)
}

// VerifyWebhook checks that a delivery was signed with key, and returns its event.
func VerifyWebhook(header http.Header, body []byte, key forge.Secret) (forge.Event, error) {
	if !forge.Signed(header.Get("X-Gitea-Signature"), body, key) {
		return forge.Event{}, &forge.Error{
			Kind: forge.ErrDenied, Op: "verify delivery", Detail: "the signature is not of our secret",
			Hint: "give the hook the secret of the configuration",
		}
	}
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return forge.Event{}, &forge.Error{Kind: forge.ErrInvalid, Op: "read delivery", Detail: "it is not the JSON that was expected"}
	}
	e := forge.Event{
		Kind: kindOf(header), Repository: p.Repository.FullName, Sender: p.Sender.Login, Delivery: header.Get("X-Gitea-Delivery"),
		Time: p.UpdatedAt,
	}
	p.locate(&e)
	return e, nil
}

func kindOf(header http.Header) forge.EventKind {
	switch header.Get("X-Gitea-Event-Type") {
	case "push", "create", "delete":
		return forge.EventPush
	case "pull_request_label":
		return forge.EventLabel
	case "pull_request", "pull_request_sync":
		return forge.EventPullRequest
	case "pull_request_comment", "issue_comment":
		return forge.EventComment
	case "status":
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
		c := p.PullRequest.pullRequest()
		e.PullRequest, e.Branch, e.Commit = c.Number, c.Base.Branch, c.Head.Commit
	}
}
