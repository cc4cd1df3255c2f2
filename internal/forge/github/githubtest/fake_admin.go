package githubtest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

func refOf(branch, commit string) object {
	return object{"ref": "refs/heads/" + branch, "object": object{"type": "commit", "sha": commit}}
}

func (c *call) getRef() {
	branch := c.PathValue("branch")
	c.JSON(200, refOf(branch, c.Repo.Branches[branch]))
}

func (c *call) createRef() {
	var in struct{ Ref, SHA string }
	c.Read(&in)
	branch, isBranch := strings.CutPrefix(in.Ref, "refs/heads/")
	switch {
	case !isBranch || !c.Repo.HasCommit(in.SHA):
		c.fail(422, "Object does not exist")
	case c.Repo.Branches[branch] != "":
		c.fail(422, "Reference already exists")
	default:
		c.Repo.Move(branch, in.SHA, c.Actor)
		c.JSON(201, refOf(branch, in.SHA))
	}
}

func (c *call) deleteRef() {
	c.Repo.Move(c.PathValue("branch"), "", c.Actor)
	c.JSON(204, nil)
}

func protectionOf(p forge.Protection) object {
	out := object{"url": "https://github.example.com/api/v3/x", "enforce_admins": object{"enabled": false}}
	if len(p.Checks) > 0 {
		out["required_status_checks"] = object{"strict": false, "contexts": p.Checks}
	}
	if p.PullRequestsOnly {
		out["required_pull_request_reviews"] = object{
			"require_code_owner_reviews": p.CodeOwners, "required_approving_review_count": p.Approvals,
		}
	}
	return out
}

func (c *call) getProtection() {
	c.JSON(200, protectionOf(c.Repo.Protections[c.PathValue("protected")]))
}

func (c *call) setProtection() {
	var in struct {
		Checks *struct {
			Contexts []string `json:"contexts"`
		} `json:"required_status_checks"`
		Reviews *struct {
			Owners bool `json:"require_code_owner_reviews"`
			Needed int  `json:"required_approving_review_count"`
		} `json:"required_pull_request_reviews"`
	}
	c.Read(&in)
	var p forge.Protection
	if in.Checks != nil {
		p.Checks = in.Checks.Contexts
	}
	if in.Reviews != nil {
		p.PullRequestsOnly, p.CodeOwners, p.Approvals = true, in.Reviews.Owners, in.Reviews.Needed
	}
	c.Repo.Protections[c.PathValue("name")] = p
	c.JSON(200, protectionOf(p))
}

func (c *call) removeProtection() {
	delete(c.Repo.Protections, c.PathValue("protected"))
	c.JSON(204, nil)
}

// hookOf hides the secret, like GitHub.
func hookOf(number int, h forge.Hook) object {
	return object{
		"id": number, "name": "web", "active": true, "config": object{"url": h.URL, "content_type": "json", "secret": "********"},
	}
}

func (c *call) listHooks() {
	var all []object
	for i, h := range c.Repo.Hooks {
		all = append(all, hookOf(i+1, h))
	}
	page(c, all)
}

type hookRequest struct {
	Config struct{ URL, Secret string }
}

func (c *call) createHook() {
	var in hookRequest
	c.Read(&in)
	h := forge.Hook{URL: in.Config.URL, Secret: forge.NewSecret(in.Config.Secret)}
	c.Repo.Hooks = append(c.Repo.Hooks, h)
	c.JSON(201, hookOf(len(c.Repo.Hooks), h))
}

func (c *call) editHook() {
	var in hookRequest
	c.Read(&in)
	*c.Hook = forge.Hook{URL: in.Config.URL, Secret: forge.NewSecret(in.Config.Secret)}
	c.JSON(200, hookOf(c.Number("hook"), *c.Hook))
}

// deliver sends an event to a hook, in GitHub's format.
func deliver(r *forgetest.Repo, h forge.Hook, e forgetest.Event) {
	kind, body := describe(r, e)
	body["repository"], body["sender"] = repoOf(r), userOf(e.Actor)
	forgetest.Post(h.URL, body, func(r *http.Request, encoded []byte) {
		r.Header.Set("X-Hub-Signature-256", "sha256="+forgetest.Sign(encoded, h.Secret))
		r.Header.Set("X-GitHub-Event", kind)
		r.Header.Set("X-GitHub-Delivery", fmt.Sprintf("%x", sha256.Sum256(encoded)))
	})
}

func describe(r *forgetest.Repo, e forgetest.Event) (string, object) {
	switch e.Kind {
	case forge.EventPush:
		after := e.Commit
		if after == "" {
			after = strings.Repeat("0", 40)
		}
		return "push", object{"ref": "refs/heads/" + e.Branch, "after": after, "deleted": e.Commit == ""}
	case forge.EventStatus:
		return "status", object{
			"sha": e.Commit, "context": e.Status.Context, "state": e.Status.State, "updated_at": e.Status.Time,
		}
	case forge.EventComment:
		issue := object{"number": e.PullRequest.Number, "pull_request": object{"url": "https://github.example.com/x"}}
		return "issue_comment", object{"action": "created", "issue": issue, "comment": object{"updated_at": e.PullRequest.CreatedAt}}
	}
	if e.Action == "checks_requested" {
		base := e.PullRequest.Base
		return "merge_group", object{"action": e.Action, "merge_group": object{
			"head_sha": e.Commit, "base_sha": base.Commit, "base_ref": "refs/heads/" + base.Branch,
			"head_ref": fmt.Sprintf("refs/heads/gh-readonly-queue/%s/pr-%d-%s", base.Branch, e.PullRequest.Number, base.Commit),
		}}
	}
	return "pull_request", object{"action": e.Action, "number": e.PullRequest.Number, "pull_request": pullOf(r, e.PullRequest)}
}
