package forgetest

import (
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

const queueOnly = "Changes must be made through the merge queue"

// Group is what a merge queue tests: a commit with a pull request, on top of those before it in the queue.
type Group struct {
	Commit string
	// Others is whether other pull requests are in it.
	Others bool
	actor  string
}

// MergeQueue makes a repository merge through a queue. It returns a function that lets the queue merge what it has tested.
func (s *Server) MergeQueue(url string) (finish func()) {
	s.World.Do(func() { s.Repo(url).Queue = true })
	return func() { s.World.Do(func() { s.Repo(url).Dequeue() }) }
}

// Enqueue adds a pull request to the merge queue, under the rules that all forges share.
func (r *Repo) Enqueue(actor string, c *PullRequest, head string) error {
	switch {
	case c.State != forge.Open:
		return refuse(forge.ErrConflict, "the pull request is not open")
	case head != "" && head != c.Head.Commit:
		return refuse(forge.ErrConflict, "head out of date")
	case c.Group != nil:
		return refuse(forge.ErrConflict, "the pull request is already in the queue")
	case len(r.missing(c)) > 0:
		return refuse(forge.ErrConflict, "required checks are missing: "+strings.Join(r.missing(c), ", "))
	}
	before := slices.ContainsFunc(r.PullRequests, func(o *PullRequest) bool { return o.Group != nil && o.Base.Branch == c.Base.Branch })
	c.Group = &Group{Commit: r.world.commit(), Others: before, actor: actor}
	r.parents[c.Group.Commit] = []string{r.Branches[c.Base.Branch], c.Head.Commit}
	r.Tell(Event{Kind: forge.EventPullRequest, Actor: actor, Action: "checks_requested", PullRequest: c, Commit: c.Group.Commit})
	return nil
}

// Dequeue merges what the queue has tested, in the order in which it was added.
func (r *Repo) Dequeue() {
	for _, c := range r.PullRequests {
		if c.State == forge.Open && c.Group != nil && !c.Group.Others && len(r.missingOn(c.Group.Commit, c.Base.Branch)) == 0 {
			group := c.Group
			c.Group = nil
			r.merged(group.actor, c, group.Commit)
		}
	}
}
