package gitlabtest

import (
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// RequireResolved makes the project at a URL require resolved threads.
func (s *Server) RequireResolved(url string) {
	s.World.Lock()
	defer s.World.Unlock()
	s.projectAt(url).threads = true
}

// diffNote returns a comment in the diff. Its position moves with later diffs until it is outdated.
func diffNote(pr *forgetest.PullRequest, n *forgetest.Note) map[string]any {
	position := map[string]any{"head_sha": pr.Head.Commit, "new_path": n.File, "new_line": nil, "position_type": "file"}
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

// startDiscussion refuses a line outside the diff, like GitLab.
func (c *call) startDiscussion() {
	position, _ := c.in["position"].(map[string]any)
	part := func(name string) string { text, _ := position[name].(string); return text }
	n := forgetest.Note{Author: c.Actor, File: part("new_path"), Text: c.text("body")}
	if line, ok := position["new_line"].(float64); ok && part("position_type") == "text" {
		n.Line = int(line)
	}
	if part("base_sha") == "" || part("start_sha") == "" || n.Text == "" {
		c.JSON(http.StatusBadRequest, map[string]any{"error": "position is incomplete"})
		return
	}
	added, err := c.Repo.AddNote(c.Pull, part("head_sha"), n)
	if err != nil {
		c.JSON(http.StatusBadRequest, map[string]any{"message": "400 Bad request - Note {:line_code=>[\"can't be blank\"]}"})
		return
	}
	c.JSON(http.StatusCreated, map[string]any{
		"id": added.ID, "individual_note": false, "notes": []any{diffNote(c.Pull, added)},
	})
}

func (c *call) resolveDiscussion() {
	c.Note.Resolved = c.yes("resolved")
	c.JSON(http.StatusOK, map[string]any{"id": c.Note.ID})
}

func (c *call) deleteNote() {
	if c.Note.Author != c.Actor {
		c.say(http.StatusForbidden, "403 Forbidden")
		return
	}
	c.Repo.RemoveNote(c.Note)
	c.JSON(http.StatusNoContent, nil)
}
