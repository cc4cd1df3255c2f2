package gitlabtest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

func (s *Server) conversationRoutes(mux *http.ServeMux) {
	s.route(mux, "GET", "/merge_requests/{number}/notes", (*call).listNotes)
	s.route(mux, "POST", "/merge_requests/{number}/notes", (*call).createNote)
	s.route(mux, "PUT", "/merge_requests/{number}/notes/{note}", (*call).editNote)
	s.route(mux, "DELETE", "/merge_requests/{number}/notes/{note}", (*call).deleteNote)
	s.route(mux, "POST", "/merge_requests/{number}/discussions", (*call).startDiscussion)
	s.route(mux, "PUT", "/merge_requests/{number}/discussions/{note}", (*call).resolveDiscussion)
	s.route(mux, "GET", "/issues", (*call).listIssues)
	s.route(mux, "POST", "/issues", (*call).openIssue)
	s.route(mux, "PUT", "/issues/{number}", (*call).editIssue)
	s.route(mux, "GET", "/labels/{label}", (*call).readLabel)
	s.route(mux, "POST", "/labels", (*call).createLabel)
	s.route(mux, "POST", "/statuses/{commit}", (*call).setStatus)
	s.route(mux, "GET", "/repository/commits/{commit}/statuses", (*call).listStatuses)
}

func note(n *forge.Comment, system bool) map[string]any {
	id, _ := strconv.Atoi(n.ID)
	return map[string]any{
		"id": id, "body": n.Body, "author": account(n.Author), "created_at": n.CreatedAt, "system": system, "noteable_type": "MergeRequest",
	}
}

// listNotes tells what GitLab itself says into a conversation as well.
func (c *call) listNotes() {
	change := c.change()
	if change == nil {
		return
	}
	notes := []map[string]any{note(&forge.Comment{ID: "1", Body: "assigned to @somebody", Author: "gitlab", CreatedAt: change.CreatedAt}, true)}
	for _, n := range change.Comments {
		notes = append(notes, note(n, false))
	}
	for _, n := range change.Notes {
		notes = append(notes, diffNote(change, n))
	}
	pages(c, notes)
}

func (c *call) createNote() {
	change := c.change()
	switch {
	case change == nil:
	case len([]rune(c.text("body"))) > 1_000_000 || c.text("body") == "":
		answer(c.w, http.StatusBadRequest, map[string]any{"message": map[string]any{"note": []string{"is too long"}}})
	default:
		answer(c.w, http.StatusCreated, note(c.repo.AddComment(c.actor, change, c.text("body")), false))
	}
}

func (c *call) editNote() {
	n, change := c.repo.Comment(c.r.PathValue("note"))
	if n == nil || strconv.Itoa(change.Number) != c.r.PathValue("number") {
		c.notFound("Note")
		return
	}
	if n.Author != c.actor {
		say(c.w, http.StatusForbidden, "403 Forbidden")
		return
	}
	n.Body = c.text("body")
	answer(c.w, http.StatusOK, note(n, false))
}

func (c *call) issue(i *forgetest.Issue) map[string]any {
	return map[string]any{
		"id": i.Number + 5000, "iid": i.Number, "title": i.Title, "description": i.Body, "state": stateNames[i.State],
		"author": account(i.Author), "labels": append([]string{}, i.Labels...), "created_at": i.CreatedAt,
		"web_url": fmt.Sprintf("%s/%s/-/issues/%d", c.URL, c.repo.Path, i.Number),
	}
}

func (c *call) listIssues() {
	query := c.r.URL.Query()
	found := []map[string]any{}
	for _, i := range slices.Backward(c.repo.Issues) {
		state, label := query.Get("state"), query.Get("labels")
		if (state != "" && state != "all" && state != stateNames[i.State]) || (label != "" && !slices.Contains(i.Labels, label)) {
			continue
		}
		found = append(found, c.issue(i))
	}
	pages(c, found)
}

func (c *call) openIssue() {
	i, err := c.repo.OpenIssue(c.actor, forge.NewIssue{Title: c.text("title"), Body: c.text("description"), Labels: c.words("labels")})
	if err != nil {
		c.refuse(err)
		return
	}
	answer(c.w, http.StatusCreated, c.issue(i))
}

func (c *call) editIssue() {
	number, _ := strconv.Atoi(c.r.PathValue("number"))
	i := c.repo.Issue(number)
	if i == nil {
		c.notFound("Issue")
		return
	}
	i.Edit(forge.IssueEdit{Title: c.optional("title"), Body: c.optional("description"), State: c.state(i.State)})
	answer(c.w, http.StatusOK, c.issue(i))
}

func (c *call) readLabel() {
	l := c.repo.Label(c.r.PathValue("label"))
	if l == nil {
		c.notFound("Label")
		return
	}
	answer(c.w, http.StatusOK, label(l))
}

func (c *call) createLabel() {
	if color := c.text("color"); len(color) != 7 || color[0] != '#' {
		answer(c.w, http.StatusBadRequest, map[string]any{"message": map[string]any{"color": []string{"must be a valid color code"}}})
		return
	}
	l, err := c.repo.AddLabel(forge.Label{Name: c.text("name"), Color: c.text("color")[1:], Description: c.text("description")})
	if err != nil {
		say(c.w, http.StatusConflict, "Label already exists")
		return
	}
	answer(c.w, http.StatusCreated, label(l))
}

func label(l *forgetest.LabelEntry) map[string]any {
	return map[string]any{"id": l.ID, "name": l.Name, "color": "#" + l.Color, "description": l.Description}
}
