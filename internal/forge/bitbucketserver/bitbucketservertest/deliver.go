package bitbucketservertest

import (
	"fmt"
	"net/http"
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
	return map[string]any{"id": id, "name": "kalypso", "url": h.URL, "active": true, "events": []string{}, "configuration": map[string]any{}}
}

func (c *call) listHooks() { page(c, c.Repo.Hooks, c.hook) }

func (c *call) hookIn() forge.Hook {
	var in struct {
		URL           string
		Configuration struct{ Secret string }
	}
	c.Read(&in)
	return forge.Hook{URL: in.URL, Secret: forge.NewSecret(in.Configuration.Secret)}
}

func (c *call) createHook() {
	h := c.hookIn()
	c.Repo.Hooks = append(c.Repo.Hooks, h)
	c.JSON(http.StatusCreated, c.hook(h))
}

func (c *call) editHook() {
	*c.Hook = c.hookIn()
	c.JSON(http.StatusOK, c.hook(*c.Hook))
}

// events are the keys of events of pull requests, by what happened.
var events = map[string]string{
	"opened": "pr:opened", "synchronized": "pr:from_ref_updated", "edited": "pr:modified", "reviewed": "pr:reviewer:approved",
}

// deliver sends an event to a hook, in Bitbucket's format. It does not tell of statuses, nor of labels.
func (s *Server) deliver(r *forgetest.Repo, h forge.Hook, e forgetest.Event) {
	body := map[string]any{"date": "2030-01-02T03:04:05+0000", "actor": person(e.Actor)}
	var key string
	s.World.Lock()
	switch e.Kind {
	case forge.EventPush:
		key = "repo:refs_changed"
		body["repository"] = place(r.Path)
		change := map[string]any{
			"ref":   map[string]any{"id": heads + e.Branch, "displayId": e.Branch, "type": "BRANCH"},
			"refId": heads + e.Branch, "toHash": e.Commit, "type": "UPDATE",
		}
		if e.Commit == "" {
			change["toHash"], change["type"] = strings.Repeat("0", 40), "DELETE"
		}
		body["changes"] = []any{change}
	case forge.EventPullRequest, forge.EventComment:
		if key = events[e.Action]; e.Kind == forge.EventComment {
			key = "pr:comment:added"
		} else if e.Action == "closed" && e.PullRequest.State == forge.Merged {
			key = "pr:merged"
		} else if e.Action == "closed" {
			key = "pr:declined"
		}
		body["pullRequest"] = s.pull(r, e.PullRequest)
	}
	s.World.Unlock()
	if key == "" {
		return
	}
	body["eventKey"] = key
	forgetest.Post(h.URL, body, func(r *http.Request, sent []byte) {
		r.Header.Set("X-Event-Key", key)
		r.Header.Set("X-Request-Id", fmt.Sprintf("1f4e-%x", len(sent)))
		r.Header.Set("X-Hub-Signature", "sha256="+forgetest.Sign(sent, h.Secret))
	})
}
