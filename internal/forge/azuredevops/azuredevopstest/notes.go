package azuredevopstest

import (
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// place is a thread's position in a diff. A path begins with a slash; lines and offsets count from 1.
type place struct {
	File  string    `json:"filePath"`
	Start *position `json:"rightFileStart,omitempty"`
	End   *position `json:"rightFileEnd,omitempty"`
}

type position struct {
	Line   int `json:"line"`
	Offset int `json:"offset"`
}

// threadAt returns a thread at a position.
func threadAt(n *forgetest.Note) map[string]any {
	t := thread(&forge.Comment{ID: n.ID, Author: n.Author, Body: n.Text}, "text")
	at := place{File: "/" + n.File}
	if n.Line > 0 {
		at.Start, at.End = &position{n.Line, 1}, &position{n.Line, 2}
	}
	t["threadContext"] = at
	return t
}

// createThreadAt accepts any line, as the forge does.
func (c *call) createThreadAt(pr *forgetest.PullRequest, at place, status, text string) {
	n := forgetest.Note{Author: c.Actor, Text: text, Resolved: status != "active"}
	if len(at.File) < 2 || at.File[0] != '/' || at.Start != nil && (at.Start.Line < 1 || at.Start.Offset < 1 || at.End == nil) {
		c.refuse(http.StatusBadRequest, "ArgumentException", "The thread context is not valid.")
		return
	}
	n.File = at.File[1:]
	added, err := c.Repo.AddNote(pr, pr.Head.Commit, n)
	if err != nil {
		added = &forgetest.Note{ID: "0", File: n.File, Author: c.Actor} // not visible anywhere
	}
	if at.Start != nil {
		added.Line = at.Start.Line
	}
	c.JSON(http.StatusOK, threadAt(added))
}

// deleteComment deletes the only comment of a thread at a line, and with it the thread.
func (c *call) deleteComment() {
	if c.Note.Author != c.Actor {
		c.refuse(http.StatusForbidden, "GitNeedsPermissionException", "Only its author can delete a comment.")
		return
	}
	c.Repo.RemoveNote(c.Note)
	c.JSON(http.StatusOK, nil)
}
