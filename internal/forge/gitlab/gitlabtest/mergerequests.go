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
func (c *call) mergeRequest(change *forgetest.PullRequest) map[string]any {
	m := map[string]any{
		"id": change.Number + 1000, "iid": change.Number, "project_id": c.Repo.ID, "title": change.Title,
		"description": change.Body, "state": stateNames[change.State], "draft": strings.HasPrefix(change.Title, "Draft: "),
		"author": account(change.Author), "created_at": change.CreatedAt, "source_branch": change.Head.Branch,
		"target_branch": change.Base.Branch, "source_project_id": c.Repo.ID, "target_project_id": c.Repo.ID,
		"sha": change.Head.Commit, "merge_commit_sha": nil, "squash_commit_sha": nil, "labels": append([]string{}, change.Labels...),
		"web_url":   fmt.Sprintf("%s/%s/-/merge_requests/%d", c.Server.URL, c.Repo.Path, change.Number),
		"merged_at": nil, "closed_at": nil, "merge_user": nil, "merged_by": nil, "closed_by": nil, "has_conflicts": false,
		"merge_status": "can_be_merged", "detailed_merge_status": "mergeable",
	}
	if change.Head.Fork != "" {
		m["source_project_id"] = nil
		if fork := c.World.Repo(change.Head.Fork); fork != nil {
			c.projectOf(fork)
			m["source_project_id"] = fork.ID
		}
	}
	switch change.State {
	case forge.Merged:
		m["merged_at"], m["merge_user"], m["merge_commit_sha"] = change.EndedAt, account(change.EndedBy), change.MergeCommit
	case forge.Closed:
		m["closed_at"], m["closed_by"] = change.EndedAt, account(change.EndedBy)
	}
	if change.Mergeable == forge.MergeableNo {
		m["has_conflicts"], m["merge_status"], m["detailed_merge_status"] = true, "cannot_be_merged", "conflict"
	}
	return m
}

// single returns a single merge request.
func (c *call) single(change *forgetest.PullRequest) map[string]any {
	m := c.mergeRequest(change)
	m["diff_refs"] = map[string]any{
		"base_sha": change.Base.Commit, "head_sha": change.Head.Commit, "start_sha": c.Repo.Branches[change.Base.Branch],
	}
	return m
}

func (c *call) listMergeRequests() {
	query := c.Request.URL.Query()
	found := []map[string]any{}
	for _, change := range slices.Backward(c.Repo.PullRequests) {
		state := query.Get("state")
		if (state != "" && state != "all" && state != stateNames[change.State]) ||
			(query.Has("source_branch") && query.Get("source_branch") != change.Head.Branch) ||
			(query.Has("target_branch") && query.Get("target_branch") != change.Base.Branch) {
			continue
		}
		found = append(found, c.mergeRequest(change))
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
	change, err := c.Repo.OpenPullRequest(c.Actor, forge.NewPullRequest{
		Head: c.text("source_branch"), Base: c.text("target_branch"), Title: c.text("title"), Body: c.text("description"),
	})
	if err != nil {
		c.refuse(err)
		return
	}
	c.JSON(http.StatusCreated, c.single(change))
}

func (c *call) editMergeRequest() {
	change := c.Pull
	if len(c.in) == 0 {
		c.JSON(http.StatusBadRequest, map[string]any{"error": "at least one parameter must be provided"})
		return
	}
	if len([]rune(c.text("title"))) > 255 || len(c.text("description")) > 1<<20 {
		c.JSON(http.StatusBadRequest, map[string]any{"message": map[string]any{"title": []string{"is too long"}}})
		return
	}
	c.editLabels(change)
	e := forge.PullRequestEdit{Title: c.optional("title"), Body: c.optional("description"), Base: c.optional("target_branch"), State: c.state(change.State)}
	if !e.Empty() {
		if err := c.Repo.EditPullRequest(c.Actor, change, e); err != nil {
			c.refuse(err)
			return
		}
	}
	c.JSON(http.StatusOK, c.single(change))
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
func (c *call) editLabels(change *forgetest.PullRequest) {
	for _, name := range c.words("add_labels") {
		if c.Repo.Label(name) == nil {
			_, _ = c.Repo.AddLabel(forge.Label{Name: name})
		}
		c.Repo.AddLabelTo(c.Actor, change, name)
	}
	for _, name := range c.words("remove_labels") {
		c.Repo.RemoveLabelFrom(c.Actor, change, name)
	}
}

func (c *call) merge() {
	change := c.Pull
	requested := forge.Merge{Head: c.text("sha")}
	pipeline := c.pipeline(change.Head.Commit)
	later := c.yes("auto_merge") || c.yes("merge_when_pipeline_succeeds")
	switch {
	case change.State != forge.Open,
		later && pipeline == "",
		!later && c.project.pipelines && pipeline != "success":
		c.say(http.StatusMethodNotAllowed, "405 Method Not Allowed")
	case requested.Head != "" && requested.Head != change.Head.Commit:
		c.say(http.StatusConflict, "SHA does not match HEAD of source branch: "+change.Head.Commit)
	case change.Mergeable == forge.MergeableNo:
		c.say(http.StatusUnprocessableEntity, "Branch cannot be merged")
	case later && pipeline != "success":
		c.project.auto[change] = autoMerge{c.Actor, requested}
		c.JSON(http.StatusOK, c.single(change))
	default:
		if err := c.Repo.Merge(c.Actor, change, requested); err != nil {
			c.refuse(err)
			return
		}
		c.JSON(http.StatusOK, c.single(change))
	}
}

func (c *call) labelEvents() {
	change := c.Pull
	events := []map[string]any{}
	for i, e := range change.History {
		action := "remove"
		if e.Added {
			action = "add"
		}
		events = append(events, map[string]any{
			"id": i + 1, "user": account(e.Actor), "created_at": e.Time, "resource_type": "MergeRequest", "action": action,
			"label": map[string]any{"id": 1, "name": e.Label},
		})
	}
	pages(c, events)
}
