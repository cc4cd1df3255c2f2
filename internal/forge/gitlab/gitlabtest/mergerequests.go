package gitlabtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// stateNames maps states to GitLab's names.
var stateNames = map[forge.State]string{forge.Open: "opened", forge.Closed: "closed", forge.Merged: "merged"}

// mergeRequest returns a merge request as in a list.
func (c *call) mergeRequest(pr *forgetest.PullRequest) map[string]any {
	m := map[string]any{
		"id": pr.Number + 1000, "iid": pr.Number, "project_id": c.Repo.ID, "title": pr.Title,
		"description": pr.Body, "state": stateNames[pr.State], "draft": strings.HasPrefix(pr.Title, "Draft: "),
		"author": account(pr.Author), "created_at": pr.CreatedAt, "source_branch": pr.Head.Branch,
		"target_branch": pr.Base.Branch, "source_project_id": c.Repo.ID, "target_project_id": c.Repo.ID,
		"sha": pr.Head.Commit, "merge_commit_sha": nil, "squash_commit_sha": nil, "labels": append([]string{}, pr.Labels...),
		"web_url":   fmt.Sprintf("%s/%s/-/merge_requests/%d", c.Server.URL, c.Repo.Path, pr.Number),
		"merged_at": nil, "closed_at": nil, "merge_user": nil, "merged_by": nil, "closed_by": nil, "has_conflicts": false,
		"merge_status": "can_be_merged", "detailed_merge_status": "mergeable",
	}
	if pr.Head.Fork != "" {
		m["source_project_id"] = nil
		if fork := c.World.Repo(pr.Head.Fork); fork != nil {
			c.projectOf(fork)
			m["source_project_id"] = fork.ID
		}
	}
	switch pr.State {
	case forge.Merged:
		m["merged_at"], m["merge_user"], m["merge_commit_sha"] = pr.EndedAt, account(pr.EndedBy), pr.MergeCommit
	case forge.Closed:
		m["closed_at"], m["closed_by"] = pr.EndedAt, account(pr.EndedBy)
	}
	if pr.Mergeable == forge.MergeableNo {
		m["has_conflicts"], m["merge_status"], m["detailed_merge_status"] = true, "cannot_be_merged", "conflict"
	}
	return m
}

// single returns a single merge request.
func (c *call) single(pr *forgetest.PullRequest) map[string]any {
	m := c.mergeRequest(pr)
	m["diff_refs"] = map[string]any{
		"base_sha": pr.Base.Commit, "head_sha": pr.Head.Commit, "start_sha": c.Repo.Branches[pr.Base.Branch],
	}
	return m
}

func (c *call) listMergeRequests() {
	query := c.Request.URL.Query()
	found := []map[string]any{}
	for _, pr := range slices.Backward(c.Repo.PullRequests) {
		state := query.Get("state")
		if (state != "" && state != "all" && state != stateNames[pr.State]) ||
			(query.Has("source_branch") && query.Get("source_branch") != pr.Head.Branch) ||
			(query.Has("target_branch") && query.Get("target_branch") != pr.Base.Branch) {
			continue
		}
		found = append(found, c.mergeRequest(pr))
	}
	pages(c, found)
}

func (c *call) readMergeRequest() {
	c.JSON(http.StatusOK, c.single(c.Pull))
}

func (c *call) openMergeRequest() {
	if len([]rune(c.text("title"))) > 255 {
		c.JSON(http.StatusBadRequest, map[string]any{"message": map[string]any{"title": []string{"is too long (maximum is 255 characters)"}}})
		return
	}
	pr, err := c.Repo.OpenPullRequest(c.Actor, forge.NewPullRequest{
		Head: c.text("source_branch"), Base: c.text("target_branch"), Title: c.text("title"), Body: c.text("description"),
	})
	if err != nil {
		c.refuse(err)
		return
	}
	c.JSON(http.StatusCreated, c.single(pr))
}

func (c *call) editMergeRequest() {
	if len(c.in) == 0 {
		c.JSON(http.StatusBadRequest, map[string]any{"error": "at least one parameter must be provided"})
		return
	}
	if len([]rune(c.text("title"))) > 255 || len(c.text("description")) > 1<<20 {
		c.JSON(http.StatusBadRequest, map[string]any{"message": map[string]any{"title": []string{"is too long"}}})
		return
	}
	c.editLabels(c.Pull)
	e := forge.PullRequestEdit{Title: c.optional("title"), Body: c.optional("description"), Base: c.optional("target_branch"), State: c.state(c.Pull.State)}
	if !e.Empty() {
		if err := c.Repo.EditPullRequest(c.Actor, c.Pull, e); err != nil {
			c.refuse(err)
			return
		}
	}
	c.JSON(http.StatusOK, c.single(c.Pull))
}

func (c *call) optional(name string) *string {
	if !c.has(name) {
		return nil
	}
	return new(c.text(name))
}

// state returns the state after an event. GitLab ignores events that do not apply.
func (c *call) state(now forge.State) *forge.State {
	switch event := c.text("state_event"); {
	case event == "close" && now == forge.Open:
		return new(forge.Closed)
	case event == "reopen" && now == forge.Closed:
		return new(forge.Open)
	}
	return nil
}

// editLabels adds and removes labels. GitLab creates those that do not exist.
func (c *call) editLabels(pr *forgetest.PullRequest) {
	for _, name := range c.words("add_labels") {
		if c.Repo.Label(name) == nil {
			_, _ = c.Repo.AddLabel(forge.Label{Name: name})
		}
		c.Repo.AddLabelTo(c.Actor, pr, name)
	}
	for _, name := range c.words("remove_labels") {
		c.Repo.RemoveLabelFrom(c.Actor, pr, name)
	}
}

func (c *call) merge() {
	requested := forge.Merge{Head: c.text("sha")}
	pipeline := c.pipeline(c.Pull.Head.Commit)
	later := c.yes("auto_merge") || c.yes("merge_when_pipeline_succeeds")
	switch {
	case c.Pull.State != forge.Open,
		later && pipeline == "",
		!later && c.project.pipelines && pipeline != "success":
		c.say(http.StatusMethodNotAllowed, "405 Method Not Allowed")
	case requested.Head != "" && requested.Head != c.Pull.Head.Commit:
		c.say(http.StatusConflict, "SHA does not match HEAD of source branch: "+c.Pull.Head.Commit)
	case c.Pull.Mergeable == forge.MergeableNo:
		c.say(http.StatusUnprocessableEntity, "Branch cannot be merged")
	case later && pipeline != "success":
		c.project.auto[c.Pull] = autoMerge{c.Actor, requested}
		c.JSON(http.StatusOK, c.single(c.Pull))
	default:
		if err := c.Repo.Merge(c.Actor, c.Pull, requested); err != nil {
			c.refuse(err)
			return
		}
		c.JSON(http.StatusOK, c.single(c.Pull))
	}
}

func (c *call) labelEvents() {
	pages(c, forgetest.Shapes(c.Pull.History, func(e forgetest.LabelEvent) map[string]any {
		return map[string]any{
			"id": 1, "user": account(e.Actor), "created_at": e.Time, "resource_type": "MergeRequest",
			"action": map[bool]string{true: "add", false: "remove"}[e.Added], "label": map[string]any{"id": 1, "name": e.Label},
		}
	}))
}

// readCar answers with the place of a merge request in a merge train.
func (c *call) readCar() {
	if !c.Repo.Queue || c.Pull.Group == nil {
		c.notFound("Merge Train Merge Request")
		return
	}
	c.JSON(http.StatusOK, c.car())
}

func (c *call) car() map[string]any {
	return map[string]any{
		"id": c.Pull.Number + 2000, "status": "fresh", "target_branch": c.Pull.Base.Branch, "merged_at": nil,
		"merge_request": map[string]any{"iid": c.Pull.Number, "state": stateNames[c.Pull.State]},
	}
}

func (c *call) addCar() {
	switch err := c.Repo.Enqueue(c.Actor, c.Pull, c.text("sha")); {
	case !c.Repo.Queue:
		c.say(http.StatusForbidden, "403 Forbidden")
	case c.text("sha") != c.Pull.Head.Commit:
		c.say(http.StatusConflict, "SHA does not match HEAD of source branch: "+c.Pull.Head.Commit)
	case err != nil:
		c.say(http.StatusBadRequest, "400 Bad request - "+err.Error())
	default:
		c.JSON(http.StatusCreated, []any{c.car()})
	}
}
