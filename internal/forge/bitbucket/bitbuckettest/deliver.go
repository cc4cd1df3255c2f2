package bitbuckettest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

func (c *call) hook(h forge.Hook) map[string]any {
	id := 0
	for i := range c.Repo.Hooks {
		if c.Repo.Hooks[i].URL == h.URL {
			id = i + 1
		}
	}
	return map[string]any{
		"type": "webhook_subscription", "uuid": "{" + strconv.Itoa(id) + "}", "url": h.URL, "description": "kalypso", "active": true,
		"events": []string{}, "secret_set": !h.Secret.IsZero(),
	}
}

func (c *call) listHooks() { page(c, c.Repo.Hooks, c.hook) }

func (c *call) hookIn() forge.Hook {
	var in struct{ URL, Secret string }
	c.Read(&in)
	return forge.Hook{URL: in.URL, Secret: forge.NewSecret(in.Secret)}
}

func (c *call) createHook() {
	h := c.hookIn()
	c.Repo.Hooks = append(c.Repo.Hooks, h)
	c.JSON(http.StatusCreated, c.hook(h))
}

func (c *call) editHook() {
	i, err := strconv.Atoi(strings.Trim(c.PathValue("uid"), "{}"))
	if err != nil || i < 1 || i > len(c.Repo.Hooks) {
		refuse(c.Call, forgetest.NoHook)
		return
	}
	c.Repo.Hooks[i-1] = c.hookIn()
	c.JSON(http.StatusOK, c.hook(c.Repo.Hooks[i-1]))
}

// events are the keys of events of pull requests, by what happened.
var events = map[string]string{
	"opened": "pullrequest:created", "synchronized": "pullrequest:updated", "edited": "pullrequest:updated", "reviewed": "pullrequest:approved",
}

// deliver sends an event to a hook, in Bitbucket's format. It does not tell of labels.
func (s *Server) deliver(r *forgetest.Repo, h forge.Hook, e forgetest.Event) {
	body := map[string]any{"actor": person(e.Actor), "repository": repository(r.Path)}
	var key string
	s.World.Lock()
	switch e.Kind {
	case forge.EventPush:
		key = "repo:push"
		at := map[string]any{"type": "branch", "name": e.Branch, "target": map[string]any{"type": "commit", "hash": e.Commit}}
		change := map[string]any{"new": at, "old": nil}
		if e.Commit == "" {
			change = map[string]any{"new": nil, "old": at, "closed": true}
		}
		body["push"] = map[string]any{"changes": []any{change}}
	case forge.EventStatus:
		key = "repo:commit_status_created"
		shape := status(e.Status, e.Status.Context)
		shape["links"] = map[string]any{"commit": map[string]any{"href": s.URL + "/2.0/repositories/" + r.Path + "/commit/" + e.Commit}}
		body["commit_status"] = shape
	case forge.EventPullRequest, forge.EventComment:
		switch key = events[e.Action]; {
		case e.Kind == forge.EventComment:
			key = "pullrequest:comment_created"
		case e.Action == "closed" && e.PullRequest.State == forge.Merged:
			key = "pullrequest:fulfilled"
		case e.Action == "closed":
			key = "pullrequest:rejected"
		}
		body["pullrequest"] = s.pull(r, e.PullRequest, true)
	}
	s.World.Unlock()
	if key == "" {
		return
	}
	forgetest.Post(h.URL, body, func(r *http.Request, sent []byte) {
		r.Header.Set("X-Event-Key", key)
		r.Header.Set("X-Request-Uuid", fmt.Sprintf("1f4e-%x", len(sent)))
		r.Header.Set("X-Hub-Signature", "sha256="+forgetest.Sign(sent, h.Secret))
	})
}
