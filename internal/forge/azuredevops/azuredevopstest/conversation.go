package azuredevopstest

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// thread returns a thread with one comment, number 1.
func thread(c *forge.Comment, kind string) map[string]any {
	id, _ := strconv.Atoi(c.ID)
	return map[string]any{
		"id": id, "status": "closed", "isDeleted": false, "comments": []map[string]any{{
			"id": 1, "parentCommentId": 0, "author": account(c.Author), "content": c.Body, "commentType": kind, "publishedDate": c.CreatedAt,
		}},
	}
}

// listThreads includes the comments that the forge itself writes.
func (c *call) listThreads() {
	all := []map[string]any{thread(&forge.Comment{ID: "1", Author: "system", Body: "The reference was updated.", CreatedAt: c.Pull.CreatedAt}, "system")}
	for _, comment := range c.Pull.Comments {
		all = append(all, thread(comment, "text"))
	}
	for _, n := range c.Pull.Notes {
		all = append(all, threadAt(n))
	}
	c.list(all)
}

func (c *call) createThread() {
	var in struct {
		Comments []struct {
			Content string `json:"content"`
		} `json:"comments"`
		Status string `json:"status"`
		Place  *place `json:"threadContext"`
	}
	c.Read(&in)
	if len(in.Comments) != 1 || utf16Len(in.Comments[0].Content) > 150_000 {
		c.refuse(http.StatusBadRequest, "ArgumentException", "The comment is too long, or none.")
		return
	}
	if in.Place != nil {
		c.createThreadAt(c.Pull, *in.Place, in.Status, in.Comments[0].Content)
		return
	}
	c.JSON(http.StatusOK, thread(c.Repo.AddComment(c.Actor, c.Pull, in.Comments[0].Content), "text"))
}

func (c *call) editComment() {
	comment := c.Comment
	if comment.Author != c.Actor {
		c.refuse(http.StatusForbidden, "GitNeedsPermissionException", "Only its author can edit a comment.")
		return
	}
	var in struct {
		Content string `json:"content"`
	}
	c.Read(&in)
	comment.Body = in.Content
	c.JSON(http.StatusOK, map[string]any{"id": 1, "content": comment.Body})
}

type status struct {
	State       string        `json:"state"`
	Description string        `json:"description"`
	TargetURL   string        `json:"targetUrl"`
	Context     statusContext `json:"context"`
}

type statusContext struct {
	Genre string `json:"genre"`
	Name  string `json:"name"`
}

func (s statusContext) name() string { return s.Genre + "\n" + s.Name }

// states maps the API's names of states to those of package forge.
var states = map[string]forge.StatusState{
	"pending": forge.Pending, "succeeded": forge.Success, "failed": forge.Failure, "error": forge.Errored,
}

func (c *call) setStatus() {
	var in status
	c.Read(&in)
	if states[in.State] == "" || in.Context.Name == "" {
		c.refuse(http.StatusBadRequest, "ArgumentException", "The status has no state or context.")
		return
	}
	err := c.Repo.SetStatus(c.Actor, c.PathValue("commit"), forge.Status{
		Context: in.Context.name(), State: states[in.State], Description: in.Description, URL: in.TargetURL,
	})
	if err != nil {
		c.refuse(http.StatusNotFound, "GitCommitDoesNotExistException", "TF401175: The commit does not exist.")
		return
	}
	c.JSON(http.StatusCreated, in)
}

func (c *call) listStatuses() {
	commit := c.PathValue("commit")
	all := []map[string]any{}
	set := c.Repo.Statuses[commit]
	if c.Request.URL.Query().Get("latestOnly") == "true" {
		set = forge.LatestStatuses(set)
	}
	for i, s := range set {
		genre, name, _ := strings.Cut(s.Context, "\n")
		for word, state := range states {
			if state == s.State {
				all = append(all, map[string]any{
					"id": i + 1, "state": word, "description": s.Description, "targetUrl": s.URL, "creationDate": s.Time,
					"context": map[string]any{"genre": genre, "name": name}, "createdBy": account("a-person"),
				})
			}
		}
	}
	c.part(all, "")
}
