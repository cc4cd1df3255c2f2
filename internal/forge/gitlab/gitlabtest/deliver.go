package gitlabtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// deliver sends an event to a hook, in GitLab's format.
func (s *Server) deliver(r *forgetest.Repo, h forge.Hook, e forgetest.Event) {
	event, payload := s.payload(r, e)
	if event == "" {
		return
	}
	s.World.Lock()
	id, key := fmt.Sprintf("f5e5f430-f57b-4e6e-9fac-%012d", s.next()), s.projectOf(r).signing[h.URL]
	s.World.Unlock()
	forgetest.Post(h.URL, payload, func(r *http.Request, body []byte) {
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "X-Gitlab-Event": {event}, "X-Gitlab-Event-Uuid": {id}, "Idempotency-Key": {id},
			"X-Gitlab-Token": {h.Secret.Reveal()},
		}
		if s.Signing && key != "" {
			sign(r.Header, id, body, key)
		}
	})
}

// Signed is the time at which the fake signs.
const Signed = 1_893_456_000

// sign adds the headers of the Standard Webhooks specification.
func sign(header http.Header, id string, body []byte, token string) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(token, "whsec_"))
	if err != nil {
		return
	}
	at := strconv.Itoa(Signed)
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(id + "." + at + "." + string(body)))
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", at)
	header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

func (s *Server) payload(r *forgetest.Repo, e forgetest.Event) (event string, body map[string]any) {
	body = map[string]any{
		"user":    map[string]any{"username": e.Actor, "name": e.Actor},
		"project": map[string]any{"id": r.ID, "path_with_namespace": r.Path, "web_url": s.URL + "/" + r.Path},
	}
	switch e.Kind {
	case forge.EventPush:
		after := e.Commit
		if after == "" {
			after = strings.Repeat("0", 40)
		}
		delete(body, "user")
		body["object_kind"], body["ref"], body["after"], body["user_username"] = "push", "refs/heads/"+e.Branch, after, e.Actor
		return "Push Hook", body
	case forge.EventPullRequest, forge.EventLabel:
		body["object_kind"], body["object_attributes"] = "merge_request", attributes(e)
		body["changes"] = map[string]any{}
		if e.Kind == forge.EventLabel {
			body["changes"] = map[string]any{"labels": map[string]any{
				"previous": []any{}, "current": []any{map[string]any{"id": 1, "title": e.Label}},
			}}
		}
		return "Merge Request Hook", body
	case forge.EventComment:
		body["object_kind"], body["merge_request"] = "note", attributes(e)
		body["object_attributes"] = map[string]any{"id": 1, "noteable_type": "MergeRequest", "note": "text"}
		return "Note Hook", body
	case forge.EventStatus:
		body["object_kind"] = "pipeline"
		body["object_attributes"] = map[string]any{"id": 1, "sha": e.Commit, "source": "external", "status": "running"}
		return "Pipeline Hook", body
	}
	return "", nil
}

// actions maps events of merge requests to GitLab's names.
var actions = map[string]string{
	"opened": "open", "closed": "close", "reopened": "reopen", "edited": "update", "synchronized": "update",
	"labeled": "update", "unlabeled": "update",
}

func attributes(e forgetest.Event) map[string]any {
	c := e.PullRequest
	action := actions[e.Action]
	if c.State == forge.Merged {
		action = "merge"
	}
	return map[string]any{
		"id": c.Number + 1000, "iid": c.Number, "title": c.Title, "state": stateNames[c.State], "action": action,
		"source_branch": c.Head.Branch, "target_branch": c.Base.Branch, "last_commit": map[string]any{"id": c.Head.Commit},
	}
}
