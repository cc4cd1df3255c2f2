package giteatest

import (
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
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

// decisionOf returns a decision. One that was dismissed keeps its state.
func decisionOf(v *forgetest.Review) object {
	state := map[forge.ReviewDecision]string{
		"": "COMMENT", forge.ChangesRequested: "REQUEST_CHANGES", forge.Approved: "APPROVED", forge.Withdrawn: "APPROVED",
	}[v.Decision]
	return object{
		"id": v.ID, "user": userOf(v.Login), "state": state, "body": "", "comments_count": 0, "commit_id": v.Commit,
		"dismissed": v.Decision == forge.Withdrawn, "submitted_at": v.At, "html_url": v.URL,
	}
}

// listReviews does not link the next page, like the forge. A review that was requested of a team has no user.
func (c *call) listReviews() {
	all := append(forgetest.Shapes(c.fake.reviews[c.Pull], (*review).object), forgetest.Shapes(c.Pull.Reviews, decisionOf)...)
	if len(c.Pull.Reviews) > 0 {
		all = append(all, object{"id": 4711, "user": nil, "state": "REQUEST_REVIEW", "body": "", "comments_count": 0})
	}
	c.unlinked(all)
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
