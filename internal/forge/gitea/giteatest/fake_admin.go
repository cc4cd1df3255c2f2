package giteatest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

func (c *call) getBranch() {
	name := c.PathValue("branch")
	c.JSON(200, object{"name": name, "commit": object{"id": c.Repo.Branches[name]}})
}

func (c *call) createBranch() {
	var in struct {
		Name string `json:"new_branch_name"`
		From string `json:"old_ref_name"`
	}
	c.Read(&in)
	switch {
	case c.Repo.Branches[in.Name] != "":
		c.fail(409, "The branch already exists.")
	case !c.Repo.HasCommit(in.From):
		c.fail(404, "The old branch does not exist")
	default:
		c.Repo.Move(in.Name, in.From, c.Actor)
		c.JSON(201, object{"name": in.Name})
	}
}

func (c *call) deleteBranch() {
	c.Repo.Move(c.PathValue("branch"), "", c.Actor)
	c.JSON(204, nil)
}

// rule is a branch protection as the API describes it.
type rule struct {
	Name     string   `json:"rule_name"`
	Push     bool     `json:"enable_push"`
	Needed   int      `json:"required_approvals"`
	Block    bool     `json:"block_on_official_review_requests"`
	Checked  bool     `json:"enable_status_check"`
	Contexts []string `json:"status_check_contexts"`
}

func (c *call) getProtection() {
	p := c.Repo.Protections[c.PathValue("protected")]
	c.JSON(200, rule{c.PathValue("protected"), !p.PullRequestsOnly, p.Approvals, p.CodeOwners, len(p.Checks) > 0, p.Checks})
}

func (c *call) createProtection() { c.protect(201, "") }

func (c *call) editProtection() { c.protect(200, c.PathValue("protected")) }

func (c *call) protect(status int, branch string) {
	var in rule
	c.Read(&in)
	if branch == "" {
		branch = in.Name
	}
	c.Repo.Protections[branch] = forge.Protection{
		PullRequestsOnly: !in.Push, Approvals: in.Needed, CodeOwners: in.Block, Checks: in.Contexts,
	}
	c.JSON(status, in)
}

func (c *call) deleteProtection() {
	delete(c.Repo.Protections, c.PathValue("protected"))
	c.JSON(204, nil)
}

// hookOf leaves out the secret, which the API never returns.
func hookOf(number int, h forge.Hook) object {
	return object{"id": number, "type": "gitea", "active": true, "config": object{"url": h.URL, "content_type": "json"}}
}

func (c *call) listHooks() {
	var all []object
	for i, h := range c.Repo.Hooks {
		all = append(all, hookOf(i+1, h))
	}
	c.page(all)
}

func (c *call) createHook() {
	var in struct {
		Config struct{ URL, Secret string }
	}
	c.Read(&in)
	h := forge.Hook{URL: in.Config.URL, Secret: forge.NewSecret(in.Config.Secret)}
	c.Repo.Hooks = append(c.Repo.Hooks, h)
	c.JSON(201, hookOf(len(c.Repo.Hooks), h))
}

func (c *call) deleteHook() {
	i := c.Number("hook") - 1
	c.Repo.Hooks = slices.Delete(c.Repo.Hooks, i, i+1)
	c.JSON(204, nil)
}

// deliver sends an event to a hook, in the forge's format.
func deliver(r *forgetest.Repo, h forge.Hook, e forgetest.Event) {
	kind, body := describe(r, e)
	body["repository"], body["sender"] = repoOf(r), userOf(e.Actor)
	forgetest.Post(h.URL, body, func(r *http.Request, encoded []byte) {
		r.Header.Set("X-Gitea-Signature", forgetest.Sign(encoded, h.Secret))
		r.Header.Set("X-Gitea-Event-Type", kind)
		r.Header.Set("X-Gitea-Delivery", fmt.Sprintf("%x", sha256.Sum256(encoded)))
	})
}

func describe(r *forgetest.Repo, e forgetest.Event) (string, object) {
	switch e.Kind {
	case forge.EventPush:
		after := e.Commit
		if after == "" {
			after = fmt.Sprintf("%040d", 0)
		}
		return "push", object{"ref": "refs/heads/" + e.Branch, "after": after}
	case forge.EventStatus:
		return "status", object{
			"sha": e.Commit, "context": e.Status.Context, "state": e.Status.State, "updated_at": e.Status.Time,
		}
	case forge.EventComment:
		return "pull_request_comment", object{"action": "created", "is_pull": true, "issue": object{"number": e.PullRequest.Number}}
	}
	body := object{"action": e.Action, "number": e.PullRequest.Number, "pull_request": pullOf("https://gitea.example.com", r, e.PullRequest)}
	switch {
	case e.Kind == forge.EventLabel:
		body["action"] = "label_updated"
		return "pull_request_label", body
	case e.Action == "synchronized":
		return "pull_request_sync", body
	}
	return "pull_request", body
}
