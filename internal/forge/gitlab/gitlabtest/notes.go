package gitlabtest

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// Demand makes the project with a URL demand that threads are resolved.
func (s *Server) Demand(url string) {
	s.World.Lock()
	defer s.World.Unlock()
	s.projectOf(s.World.Repo(strings.TrimPrefix(url, s.URL+"/"))).threads = true
}

// diffNote is a comment in the difference, whose position moves along with it while it is not outdated.
func diffNote(change *forgetest.PullRequest, n *forgetest.Note) map[string]any {
	position := map[string]any{"head_sha": change.Head.Commit, "new_path": n.File, "new_line": nil, "position_type": "file"}
	if n.Line > 0 {
		position["new_line"], position["position_type"] = n.Line, "text"
	}
	if n.Outdated {
		position["head_sha"] = "another"
	}
	out := note(&forge.Comment{ID: n.ID, Author: n.Author, Body: n.Text}, false)
	out["type"], out["position"], out["resolvable"] = "DiffNote", position, true
	return out
}

// startDiscussion refuses a line that the difference does not show, as GitLab does.
func (c *call) startDiscussion() {
	change := c.change()
	if change == nil {
		return
	}
	position, _ := c.in["position"].(map[string]any)
	part := func(name string) string { text, _ := position[name].(string); return text }
	n := forgetest.Note{Author: c.actor, File: part("new_path"), Text: c.text("body")}
	if line, ok := position["new_line"].(float64); ok && part("position_type") == "text" {
		n.Line = int(line)
	}
	if part("base_sha") == "" || part("start_sha") == "" || n.Text == "" {
		answer(c.w, http.StatusBadRequest, map[string]any{"error": "position is incomplete"})
		return
	}
	added, err := c.repo.AddNote(change, part("head_sha"), n)
	if err != nil {
		answer(c.w, http.StatusBadRequest, map[string]any{"message": "400 Bad request - Note {:line_code=>[\"can't be blank\"]}"})
		return
	}
	answer(c.w, http.StatusCreated, map[string]any{
		"id": "discussion-" + added.ID, "individual_note": false, "notes": []any{diffNote(change, added)},
	})
}

func (c *call) resolveDiscussion() {
	n, _ := c.repo.Note(strings.TrimPrefix(c.r.PathValue("note"), "discussion-"))
	if n == nil {
		c.notFound("Discussion")
		return
	}
	n.Resolved = c.yes("resolved")
	answer(c.w, http.StatusOK, map[string]any{"id": c.r.PathValue("note")})
}

func (c *call) deleteNote() {
	n, change := c.repo.Note(c.r.PathValue("note"))
	switch {
	case n == nil || strconv.Itoa(change.Number) != c.r.PathValue("number"):
		c.notFound("Note")
	case n.Author != c.actor:
		say(c.w, http.StatusForbidden, "403 Forbidden")
	default:
		c.repo.RemoveNote(n)
		answer(c.w, http.StatusNoContent, nil)
	}
}
