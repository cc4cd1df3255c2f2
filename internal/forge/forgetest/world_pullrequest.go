package forgetest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// PullRequest is a pull request of a [World], with its comments and history.
type PullRequest struct {
	forge.PullRequest
	Comments []*forge.Comment
	// Reviews are in the order in which they were made, and Heads are the heads that the pull request had.
	Reviews []*Review
	Heads   []Head
	Notes   []*Note
	History []LabelEvent
	// Version counts the changes of what the pull request says and of its heads.
	Version int
	// Auto is the merge that waits for checks. Nil if none does.
	Auto   *forge.Merge
	autoBy string
	// Group is what the merge queue tests. Nil if the pull request is not in the queue.
	Group *Group
}

// LabelEvent records that a label was added or removed.
type LabelEvent struct {
	Label, Actor string
	Added        bool
	Time         time.Time
}

// Issue is an issue of a [World].
type Issue struct {
	forge.Issue
	CreatedAt time.Time
}

// PullRequest finds a pull request. It returns nil if it does not exist.
func (r *Repo) PullRequest(number int) *PullRequest {
	return find(r.PullRequests, func(p *PullRequest) bool { return p.Number == number })
}

// OpenPullRequest opens a pull request, under the rules that all forges share.
func (r *Repo) OpenPullRequest(actor string, n forge.NewPullRequest) (*PullRequest, error) {
	head, base := r.Branches[n.Head], r.Branches[n.Base]
	switch {
	case head == "" || base == "":
		return nil, refuse(forge.ErrInvalid, "branch does not exist")
	case strings.TrimSpace(n.Title) == "":
		return nil, refuse(forge.ErrInvalid, "title is empty")
	case head == base:
		return nil, refuse(forge.ErrInvalid, "No commits between "+n.Base+" and "+n.Head)
	}
	for _, c := range r.PullRequests {
		if (forge.PullRequestFilter{State: forge.Open, Head: n.Head, Base: n.Base}).Matches(c.PullRequest) {
			return nil, refuse(forge.ErrConflict, "a pull request already exists for "+n.Head)
		}
	}
	c := &PullRequest{PullRequest: forge.PullRequest{
		Number: r.number(false), Title: n.Title, Body: n.Body, Draft: n.Draft, State: forge.Open, Author: actor,
		Head: forge.Ref{Branch: n.Head, Commit: head}, Base: forge.Ref{Branch: n.Base, Commit: base},
		Mergeable: forge.MergeableYes, CreatedAt: r.world.tick(),
	}}
	c.Heads = []Head{{head, c.CreatedAt}}
	r.PullRequests = append(r.PullRequests, c)
	r.Tell(Event{Kind: forge.EventPullRequest, Actor: actor, Action: "opened", PullRequest: c})
	return c, nil
}

// OpenFromFork opens a pull request to the default branch, from a branch of a fork.
func (r *Repo) OpenFromFork(actor, fork, branch string) *PullRequest {
	c := &PullRequest{PullRequest: forge.PullRequest{
		Number: r.number(false), Title: "From a fork", State: forge.Open, Author: actor,
		Head: forge.Ref{Branch: branch, Commit: r.world.commit(), Fork: fork},
		Base: forge.Ref{Branch: r.DefaultBranch, Commit: r.Branches[r.DefaultBranch]}, CreatedAt: r.world.tick(),
	}}
	r.PullRequests = append(r.PullRequests, c)
	return c
}

// EditPullRequest edits a pull request, under the rules that all forges share.
func (r *Repo) EditPullRequest(actor string, c *PullRequest, e forge.PullRequestEdit) error {
	if e.Base != nil && r.Branches[*e.Base] == "" {
		return refuse(forge.ErrInvalid, "base branch does not exist")
	}
	if e.State != nil && *e.State != c.State && c.State == forge.Merged {
		return refuse(forge.ErrConflict, "cannot change the state of a merged pull request")
	}
	c.Version++
	if e.Title != nil {
		c.Title = *e.Title
	}
	if e.Body != nil {
		c.Body = *e.Body
	}
	if e.Base != nil {
		c.Base = forge.Ref{Branch: *e.Base, Commit: r.Branches[*e.Base]}
	}
	action := "edited"
	if e.State != nil && *e.State != c.State {
		c.State = *e.State
		c.EndedBy, c.EndedAt, action = "", time.Time{}, "reopened"
		if c.State == forge.Closed {
			c.EndedBy, c.EndedAt, action = actor, r.world.tick(), "closed"
		}
	}
	r.Tell(Event{Kind: forge.EventPullRequest, Actor: actor, Action: action, PullRequest: c})
	return nil
}

// Merge merges a pull request, under the rules that all forges share.
func (r *Repo) Merge(actor string, c *PullRequest, m forge.Merge) error {
	switch {
	case c.State != forge.Open:
		return refuse(forge.ErrConflict, "the pull request is not open")
	case m.Head != "" && m.Head != c.Head.Commit:
		return refuse(forge.ErrConflict, "Head branch was modified. Review and try the merge again.")
	case len(r.missing(c)) > 0:
		return refuse(forge.ErrConflict, "required checks are missing: "+strings.Join(r.missing(c), ", "))
	case r.Queue:
		return refuse(forge.ErrConflict, queueOnly)
	}
	commit := r.world.commit()
	r.parents[commit] = []string{r.Branches[c.Base.Branch], c.Head.Commit}
	r.merged(actor, c, commit)
	return nil
}

// merged closes a pull request whose base moves to a commit.
func (r *Repo) merged(actor string, c *PullRequest, commit string) {
	c.Version++
	c.State, c.EndedBy, c.EndedAt, c.MergeCommit, c.Auto = forge.Merged, actor, r.world.tick(), commit, nil
	r.Tell(Event{Kind: forge.EventPullRequest, Actor: actor, Action: "closed", PullRequest: c})
	r.Move(c.Base.Branch, commit, actor)
}

// missing returns the required checks that have not succeeded.
func (r *Repo) missing(c *PullRequest) []string { return r.missingOn(c.Head.Commit, c.Base.Branch) }

func (r *Repo) missingOn(commit, base string) []string {
	latest := forge.LatestStatuses(r.Statuses[commit])
	var missing []string
	for _, check := range r.Protections[base].Checks {
		if !slices.ContainsFunc(latest, func(s forge.Status) bool { return s.Context == check && s.State == forge.Success }) {
			missing = append(missing, check)
		}
	}
	return missing
}

// AutoMerge merges a pull request once its checks succeed.
func (r *Repo) AutoMerge(actor string, c *PullRequest, m forge.Merge) error {
	switch {
	case c.State != forge.Open:
		return refuse(forge.ErrConflict, "the pull request is not open")
	case m.Head != "" && m.Head != c.Head.Commit:
		return refuse(forge.ErrConflict, "head out of date")
	case len(r.missing(c)) == 0:
		return refuse(forge.ErrConflict, "Pull request is in clean status")
	}
	c.Auto, c.autoBy = &m, actor
	return nil
}

// SetStatus sets a status of a commit, and runs automatic merges that waited for it.
func (r *Repo) SetStatus(actor, commit string, s forge.Status) error {
	if !r.HasCommit(commit) {
		return refuse(forge.ErrInvalid, "No commit found for SHA: "+commit)
	}
	s.Time = r.world.tick()
	r.Statuses[commit] = append(r.Statuses[commit], s)
	r.Tell(Event{Kind: forge.EventStatus, Actor: actor, Commit: commit, Status: s})
	for _, c := range r.PullRequests {
		if c.Auto != nil && c.Head.Commit == commit && len(r.missing(c)) == 0 {
			return r.Merge(c.autoBy, c, *c.Auto)
		}
	}
	r.Dequeue()
	return nil
}

// AddLabelTo adds an existing label to a pull request.
func (r *Repo) AddLabelTo(actor string, c *PullRequest, label string) {
	if c.HasLabel(label) {
		return
	}
	c.Labels = append(c.Labels, label)
	c.History = append(c.History, LabelEvent{label, actor, true, r.world.tick()})
	r.Tell(Event{Kind: forge.EventLabel, Actor: actor, Action: "labeled", PullRequest: c, Label: label})
}

// RemoveLabelFrom removes a label from a pull request, and reports whether it had it.
func (r *Repo) RemoveLabelFrom(actor string, c *PullRequest, label string) bool {
	if !c.HasLabel(label) {
		return false
	}
	c.Labels = slices.DeleteFunc(c.Labels, func(l string) bool { return strings.EqualFold(l, label) })
	c.History = append(c.History, LabelEvent{label, actor, false, r.world.tick()})
	r.Tell(Event{Kind: forge.EventLabel, Actor: actor, Action: "unlabeled", PullRequest: c, Label: label})
	return true
}

// AddComment adds a comment to a pull request.
func (r *Repo) AddComment(actor string, c *PullRequest, body string) *forge.Comment {
	r.world.counter++
	comment := &forge.Comment{ID: strconv.Itoa(r.world.counter), Author: actor, Body: body, CreatedAt: r.world.tick()}
	c.Comments = append(c.Comments, comment)
	r.Tell(Event{Kind: forge.EventComment, Actor: actor, Action: "created", PullRequest: c})
	return comment
}

// Comment finds a comment, and its pull request. It returns nil if it does not exist.
func (r *Repo) Comment(id string) (*forge.Comment, *PullRequest) {
	for _, p := range r.PullRequests {
		if c := find(p.Comments, func(c *forge.Comment) bool { return c.ID == id }); c != nil {
			return c, p
		}
	}
	return nil, nil
}

// Issue finds an issue. It returns nil if it does not exist.
func (r *Repo) Issue(number int) *Issue {
	return find(r.Issues, func(i *Issue) bool { return i.Number == number })
}

// OpenIssue opens an issue.
func (r *Repo) OpenIssue(actor string, n forge.NewIssue) (*Issue, error) {
	if strings.TrimSpace(n.Title) == "" {
		return nil, refuse(forge.ErrInvalid, "title is empty")
	}
	i := &Issue{forge.Issue{
		Number: r.number(true), Title: n.Title, Body: n.Body, State: forge.Open, Author: actor, Labels: n.Labels,
	}, r.world.tick()}
	r.Issues = append(r.Issues, i)
	return i, nil
}

// Edit edits an issue, under the rules that all forges share.
func (i *Issue) Edit(e forge.IssueEdit) {
	if e.Title != nil {
		i.Title = *e.Title
	}
	if e.Body != nil {
		i.Body = *e.Body
	}
	if e.State != nil {
		i.State = *e.State
	}
}
