package gitlabtest

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// steps are the transitions into a state, and the states from which each is refused. Finished statuses can start again.
var steps = map[string]struct {
	step string
	from []string
}{
	"pending": {"enqueue", []string{"pending", "running"}},
	"running": {"run", []string{"running"}},
}

// known maps the API's states to those of package forge. The fake stores pending statuses under GitLab's exact state.
var known = map[string]forge.StatusState{
	"pending": forge.Pending, "running": "running", "success": forge.Success, "failed": forge.Failure, "canceled": forge.Errored,
}

func (c *call) setStatus() {
	commit, state := c.PathValue("commit"), c.text("state")
	if !c.Repo.HasCommit(commit) {
		c.notFound("Commit")
		return
	}
	if known[state] == "" {
		c.JSON(http.StatusBadRequest, map[string]any{"error": "state does not have a valid value"})
		return
	}
	if len([]rune(c.text("description"))) > 255 {
		c.JSON(http.StatusBadRequest, map[string]any{"message": map[string]any{"description": []string{"is too long (maximum is 255 characters)"}}})
		return
	}
	if len(c.text("target_url")) > 255 {
		c.JSON(http.StatusBadRequest, map[string]any{"message": map[string]any{"target_url": []string{"is too long (maximum is 255 characters)"}}})
		return
	}
	pipeline, _ := c.in["pipeline_id"].(float64)
	c.Placed = append(c.Placed, fmt.Sprintf("%d %s", int(pipeline), c.text("ref")))
	now := c.latest(commit)[c.text("name")]
	if s := steps[state]; slices.Contains(s.from, now) {
		c.say(http.StatusBadRequest, fmt.Sprintf(
			"Cannot transition status via :%s from :%s (Reason(s): Status cannot transition via %q)", s.step, now, s.step))
		return
	}
	status := forge.Status{
		Context: c.text("name"), State: known[state], Description: c.text("description"), URL: c.text("target_url"),
	}
	if err := c.Repo.SetStatus(c.Actor, commit, status); err != nil {
		c.refuse(err)
		return
	}
	c.mergeWaiting(commit)
	c.JSON(http.StatusCreated, map[string]any{"name": status.Context, "status": state, "sha": commit})
}

// latest returns the states by context, as GitLab names them.
func (c *call) latest(commit string) map[string]string {
	states := map[string]string{}
	for _, s := range c.Repo.Statuses[commit] {
		states[s.Context] = word(s.State)
	}
	return states
}

func word(state forge.StatusState) string {
	for name, s := range known {
		if s == state {
			return name
		}
	}
	return ""
}

// pipeline returns the combined state of a commit's statuses. Empty if there are none.
func (c *call) pipeline(commit string) string {
	result := ""
	for _, state := range c.latest(commit) {
		switch {
		case state == "failed" || state == "canceled":
			return "failed"
		case state == "pending" || state == "running":
			result = "running"
		case result == "":
			result = "success"
		}
	}
	return result
}

// mergeWaiting runs the merges that waited for a commit's pipeline.
func (c *call) mergeWaiting(commit string) {
	for pr, auto := range c.project.auto {
		if pr.Head.Commit == commit && c.pipeline(commit) == "success" {
			delete(c.project.auto, pr)
			_ = c.Repo.Merge(auto.actor, pr, auto.merge)
		}
	}
}

func (c *call) listStatuses() {
	commit := c.PathValue("commit")
	if !c.Repo.HasCommit(commit) {
		c.notFound("Commit")
		return
	}
	found := []map[string]any{}
	for i, s := range forge.LatestStatuses(c.Repo.Statuses[commit]) {
		found = append(found, map[string]any{
			"id": i + 1, "sha": commit, "ref": "main", "name": s.Context, "status": word(s.State), "target_url": s.URL,
			"description": s.Description, "created_at": s.Time, "author": account("a-person"),
		})
	}
	pages(c, found)
}

func (c *call) listPipelines() { pages(c, c.Pipelines[c.URL.Query().Get("sha")]) }

// listMergeRequestsOf ignores the state in the query, like older servers.
func (c *call) listMergeRequestsOf() {
	found := []map[string]any{}
	for _, p := range c.Repo.PullRequests {
		if p.Head.Commit == c.PathValue("commit") {
			found = append(found, c.mergeRequest(p))
		}
	}
	c.JSON(http.StatusOK, found)
}
