package giteatest

import (
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// review is a set of comments at lines, posted together.
type review struct {
	id           int
	author, body string
	notes        []*forgetest.Note
}

func (v *review) object() object {
	return object{"id": v.id, "user": userOf(v.author), "state": "COMMENT", "body": v.body, "comments_count": len(v.notes)}
}

// listReviews does not link the next page, like the forge.
func (c *call) listReviews() {
	c.unlinked(forgetest.Shapes(c.fake.reviews[c.Pull], (*review).object))
}

// createReview accepts any line of any file, like the forge. Lines outside the diff are not shown.
func (c *call) createReview() {
	var in struct {
		Event, Body string
		Commit      string `json:"commit_id"`
		Comments    []struct {
			Path, Body string
			Line       int `json:"new_position"`
		}
	}
	c.Read(&in)
	if in.Event != "COMMENT" || in.Body == "" && len(in.Comments) == 0 {
		c.fail(422, "review event COMMENT requires a body or a comment")
		return
	}
	c.fake.counter++
	v := &review{id: c.fake.counter, author: c.Actor, body: in.Body}
	for _, comment := range in.Comments {
		n, err := c.Repo.AddNote(c.Pull, in.Commit, forgetest.Note{Author: c.Actor, File: comment.Path, Text: comment.Body})
		if err == nil {
			n.Line = comment.Line
			v.notes = append(v.notes, n)
		}
	}
	c.fake.reviews[c.Pull] = append(c.fake.reviews[c.Pull], v)
	c.JSON(200, v.object())
}

func (c *call) deleteReview() {
	i := slices.IndexFunc(c.fake.reviews[c.Pull], func(v *review) bool { return v.id == c.Number("id") })
	switch {
	case i < 0:
		c.fail(404, "not found")
	case c.fake.reviews[c.Pull][i].author != c.Actor:
		c.fail(403, "")
	default:
		for _, n := range c.fake.reviews[c.Pull][i].notes {
			c.Repo.RemoveNote(n)
		}
		c.fake.reviews[c.Pull] = slices.Delete(c.fake.reviews[c.Pull], i, i+1)
		c.JSON(204, nil)
	}
}
