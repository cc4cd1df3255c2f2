package gitlabtest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

func note(n *forge.Comment, system bool) map[string]any {
	id, _ := strconv.Atoi(n.ID)
	return map[string]any{
		"id": id, "body": n.Body, "author": account(n.Author), "created_at": n.CreatedAt, "system": system, "noteable_type": "MergeRequest",
	}
}

// listNotes includes the entries that GitLab itself writes.
func (c *call) listNotes() {
	notes := []map[string]any{note(&forge.Comment{ID: "1", Body: "assigned to @a-person", Author: "gitlab", CreatedAt: c.Pull.CreatedAt}, true)}
	for _, n := range c.Pull.Comments {
		notes = append(notes, note(n, false))
	}
	for _, n := range c.Pull.Notes {
		notes = append(notes, diffNote(c.Pull, n))
	}
	pages(c, notes)
}

func (c *call) createNote() {
	switch {
	case len([]rune(c.text("body"))) > 1_000_000 || c.text("body") == "":
		c.JSON(http.StatusBadRequest, map[string]any{"message": map[string]any{"note": []string{"is too long"}}})
	default:
		c.JSON(http.StatusCreated, note(c.Repo.AddComment(c.Actor, c.Pull, c.text("body")), false))
	}
}

func (c *call) editNote() {
	n := c.Comment
	if n.Author != c.Actor {
		c.say(http.StatusForbidden, "403 Forbidden")
		return
	}
	n.Body = c.text("body")
	c.JSON(http.StatusOK, note(n, false))
}

func (c *call) issue(i *forgetest.Issue) map[string]any {
	return map[string]any{
		"id": i.Number + 5000, "iid": i.Number, "title": i.Title, "description": i.Body, "state": stateNames[i.State],
		"author": account(i.Author), "labels": append([]string{}, i.Labels...), "created_at": i.CreatedAt,
		"web_url": fmt.Sprintf("%s/%s/-/issues/%d", c.Server.URL, c.Repo.Path, i.Number),
	}
}

func (c *call) listIssues() {
	query := c.Request.URL.Query()
	found := []map[string]any{}
	for _, i := range slices.Backward(c.Repo.Issues) {
		state, label := query.Get("state"), query.Get("labels")
		if (state != "" && state != "all" && state != stateNames[i.State]) || (label != "" && !slices.Contains(i.Labels, label)) {
			continue
		}
		found = append(found, c.issue(i))
	}
	pages(c, found)
}

func (c *call) openIssue() {
	i, err := c.Repo.OpenIssue(c.Actor, forge.NewIssue{Title: c.text("title"), Body: c.text("description"), Labels: c.words("labels")})
	if err != nil {
		c.refuse(err)
		return
	}
	c.JSON(http.StatusCreated, c.issue(i))
}

func (c *call) editIssue() {
	i := c.Issue
	i.Edit(forge.IssueEdit{Title: c.optional("title"), Body: c.optional("description"), State: c.state(i.State)})
	c.JSON(http.StatusOK, c.issue(i))
}

func (c *call) readLabel() {
	l := c.Repo.Label(c.PathValue("label"))
	if l == nil {
		c.notFound("Label")
		return
	}
	c.JSON(http.StatusOK, label(l))
}

func (c *call) createLabel() {
	if color := c.text("color"); len(color) != 7 || color[0] != '#' {
		c.JSON(http.StatusBadRequest, map[string]any{"message": map[string]any{"color": []string{"must be a valid color code"}}})
		return
	}
	l, err := c.Repo.AddLabel(forge.Label{Name: c.text("name"), Color: c.text("color")[1:], Description: c.text("description")})
	if err != nil {
		c.say(http.StatusConflict, "Label already exists")
		return
	}
	c.JSON(http.StatusCreated, label(l))
}

func label(l *forgetest.LabelEntry) map[string]any {
	return map[string]any{"id": l.ID, "name": l.Name, "color": "#" + l.Color, "description": l.Description}
}
