package github

import (
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// payload holds the fields that all deliveries share.
type payload struct {
	Action      string       `json:"action"`
	Ref         string       `json:"ref"`
	After       string       `json:"after"`
	Deleted     bool         `json:"deleted"`
	SHA         string       `json:"sha"`
	UpdatedAt   time.Time    `json:"updated_at"`
	PullRequest *pullRequest `json:"pull_request"`
	Issue       *issue       `json:"issue"`
	CheckSuite  struct {
		SHA       string    `json:"head_sha"`
		UpdatedAt time.Time `json:"updated_at"`
	} `json:"check_suite"`
	MergeGroup mergeGroup `json:"merge_group"`
	Comment    *struct {
		UpdatedAt time.Time `json:"updated_at"`
	} `json:"comment"`
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
	Sender struct {
		Login string `json:"login"`
	} `json:"sender"`
}

// VerifyWebhook checks that a delivery was signed with key, and returns its event.
func (*Forge) VerifyWebhook(header http.Header, body []byte, key forge.Secret) (forge.Event, error) {
	signature, found := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
	if !found {
		signature = ""
	}
	var p payload
	if err := forge.ReadSigned(signature, body, key, &p); err != nil {
		return forge.Event{}, err
	}
	e := forge.Event{
		Kind: forge.EventOther, Repository: p.Repository.FullName, Sender: p.Sender.Login, Delivery: header.Get("X-Github-Delivery"),
	}
	p.locate(header.Get("X-Github-Event"), &e)
	return e, nil
}

// locate fills in the event's kind and location.
func (p payload) locate(kind string, e *forge.Event) {
	switch kind {
	case "push":
		branch, isBranch := strings.CutPrefix(p.Ref, "refs/heads/")
		if !isBranch {
			return // a tag
		}
		e.Kind, e.Branch = forge.EventPush, branch
		if !p.Deleted {
			e.Commit = p.After
		}
	case "pull_request", "pull_request_review":
		if p.PullRequest == nil {
			return
		}
		e.Kind = forge.EventPullRequest
		if p.Action == "labeled" || p.Action == "unlabeled" {
			e.Kind = forge.EventLabel
		}
		on := pullRequestOf(*p.PullRequest)
		e.PullRequest, e.Branch, e.Commit, e.Time = on.Number, on.Base.Branch, on.Head.Commit, p.PullRequest.UpdatedAt
	case "merge_group":
		e.Kind, e.Commit = forge.EventPullRequest, p.MergeGroup.HeadSHA
		e.Branch, e.PullRequest = strings.TrimPrefix(p.MergeGroup.BaseRef, "refs/heads/"), p.MergeGroup.number()
	case "status":
		e.Kind, e.Commit, e.Time = forge.EventStatus, p.SHA, p.UpdatedAt
	case "check_suite":
		e.Kind, e.Commit, e.Time = forge.EventStatus, p.CheckSuite.SHA, p.CheckSuite.UpdatedAt
	case "issue_comment":
		e.Kind = forge.EventComment
		if p.Issue != nil && p.Issue.isPullRequest() {
			e.PullRequest = p.Issue.Number
		}
		if p.Comment != nil {
			e.Time = p.Comment.UpdatedAt
		}
	case "ping":
		e.Kind = forge.EventPing
	}
}
