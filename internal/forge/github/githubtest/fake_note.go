package githubtest

import (
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// noteOf returns a review comment. It has no line if it is outdated or at a file.
func noteOf(n *forgetest.Note) object {
	id, _ := strconv.Atoi(n.ID)
	out := object{"id": id, "user": userOf(n.Author), "body": n.Text, "path": n.File, "subject_type": "line", "line": nil}
	switch {
	case n.Line == 0:
		out["subject_type"] = "file"
	case !n.Outdated:
		out["line"] = n.Line
	}
	return out
}

func (c *call) listNotes() {
	page(c, forgetest.Shapes(c.Pull.Notes, noteOf))
}

// createNote refuses a line outside the diff, like GitHub.
func (c *call) createNote() {
	var in struct {
		Body, Path, Side string
		Line             *int
		Subject          string `json:"subject_type"`
		Commit           string `json:"commit_id"`
	}
	c.Read(&in)
	n := forgetest.Note{Author: c.Actor, File: in.Path, Text: in.Body}
	if in.Subject == "line" {
		if in.Line == nil || in.Side != "RIGHT" {
			c.fail(422, "Validation Failed", object{"resource": "PullRequestReviewComment", "code": "missing_field", "field": "line"})
			return
		}
		n.Line = *in.Line
	}
	added, err := c.Repo.AddNote(c.Pull, in.Commit, n)
	if !c.tooLong("", in.Body) && !c.refuse("PullRequestReviewComment", err) {
		c.JSON(201, noteOf(added))
	}
}

func (c *call) deleteNote() {
	c.Repo.RemoveNote(c.Note)
	c.JSON(204, nil)
}
