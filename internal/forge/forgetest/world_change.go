package forgetest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Change is a change of a [World], with its conversation and history.
type Change struct {
	forge.Change
	Comments []*forge.Comment
	Notes    []*Note
	History  []LabelEvent
	// Auto is the merge that waits for the checks; nil when none does.
	Auto   *forge.Merge
	autoBy string
}

// LabelEvent is something that happened to a label of a change.
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

// Change finds a change; nil when there is none.
func (r *Repo) Change(number int) *Change {
	for _, c := range r.Changes {
		if c.Number == number {
			return c
		}
	}
	return nil
}

// OpenChange opens a change, under the rules that all forges have.
func (r *Repo) OpenChange(actor string, n forge.NewChange) (*Change, error) {
	head, base := r.Branches[n.Head], r.Branches[n.Base]
	switch {
	case head == "" || base == "":
		return nil, refuse(forge.ErrInvalid, "branch does not exist")
	case strings.TrimSpace(n.Title) == "":
		return nil, refuse(forge.ErrInvalid, "title is empty")
	case head == base:
		return nil, refuse(forge.ErrInvalid, "No commits between "+n.Base+" and "+n.Head)
	}
	for _, c := range r.Changes {
		if (forge.ChangeFilter{State: forge.Open, Head: n.Head, Base: n.Base}).Matches(c.Change) {
			return nil, refuse(forge.ErrConflict, "a pull request already exists for "+n.Head)
		}
	}
	c := &Change{Change: forge.Change{
		Number: r.number(false), Title: n.Title, Body: n.Body, Draft: n.Draft, State: forge.Open, Author: actor,
		Head: forge.Ref{Branch: n.Head, Commit: head}, Base: forge.Ref{Branch: n.Base, Commit: base},
		Mergeable: forge.MergeableYes, CreatedAt: r.world.tick(),
	}}
	r.Changes = append(r.Changes, c)
	r.Tell(Happening{Kind: forge.EventChange, Actor: actor, Action: "opened", Change: c})
	return c, nil
}

// OpenFromFork opens a change to the default branch, from a branch of a fork.
func (r *Repo) OpenFromFork(actor, fork, branch string) *Change {
	c := &Change{Change: forge.Change{
		Number: r.number(false), Title: "From a fork", State: forge.Open, Author: actor,
		Head: forge.Ref{Branch: branch, Commit: r.world.commit(), Fork: fork},
		Base: forge.Ref{Branch: r.DefaultBranch, Commit: r.Branches[r.DefaultBranch]}, CreatedAt: r.world.tick(),
	}}
	r.Changes = append(r.Changes, c)
	return c
}

// EditChange edits a change, under the rules that all forges have.
func (r *Repo) EditChange(actor string, c *Change, e forge.ChangeEdit) error {
	if e.Base != nil && r.Branches[*e.Base] == "" {
		return refuse(forge.ErrInvalid, "base branch does not exist")
	}
	if e.State != nil && *e.State != c.State && c.State == forge.Merged {
		return refuse(forge.ErrConflict, "cannot change the state of a merged pull request")
	}
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
	r.Tell(Happening{Kind: forge.EventChange, Actor: actor, Action: action, Change: c})
	return nil
}

// Merge merges a change, under the rules that all forges have.
func (r *Repo) Merge(actor string, c *Change, m forge.Merge) error {
	switch {
	case c.State != forge.Open:
		return refuse(forge.ErrConflict, "the pull request is not open")
	case m.Head != "" && m.Head != c.Head.Commit:
		return refuse(forge.ErrConflict, "Head branch was modified. Review and try the merge again.")
	case len(r.missing(c)) > 0:
		return refuse(forge.ErrConflict, "required checks are missing: "+strings.Join(r.missing(c), ", "))
	}
	commit := r.world.commit()
	r.parents[commit] = []string{r.Branches[c.Base.Branch], c.Head.Commit}
	c.State, c.EndedBy, c.EndedAt, c.MergeCommit, c.Auto = forge.Merged, actor, r.world.tick(), commit, nil
	r.Tell(Happening{Kind: forge.EventChange, Actor: actor, Action: "closed", Change: c})
	r.Move(c.Base.Branch, commit, actor)
	return nil
}

// missing are the required checks that have not succeeded.
func (r *Repo) missing(c *Change) []string {
	latest := forge.LatestStatuses(r.Statuses[c.Head.Commit])
	var missing []string
	for _, check := range r.Protections[c.Base.Branch].Checks {
		if !slices.ContainsFunc(latest, func(s forge.Status) bool { return s.Context == check && s.State == forge.Success }) {
			missing = append(missing, check)
		}
	}
	return missing
}

// AutoMerge merges a change once its checks succeed.
func (r *Repo) AutoMerge(actor string, c *Change, m forge.Merge) error {
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

// SetStatus says something about a commit, which may be what an automatic merge waited for.
func (r *Repo) SetStatus(actor, commit string, s forge.Status) error {
	if !r.HasCommit(commit) {
		return refuse(forge.ErrInvalid, "No commit found for SHA: "+commit)
	}
	s.Time = r.world.tick()
	r.Statuses[commit] = append(r.Statuses[commit], s)
	r.Tell(Happening{Kind: forge.EventStatus, Actor: actor, Commit: commit, Status: s})
	for _, c := range r.Changes {
		if c.Auto != nil && c.Head.Commit == commit && len(r.missing(c)) == 0 {
			return r.Merge(c.autoBy, c, *c.Auto)
		}
	}
	return nil
}

// AddLabelTo tags a change; the label exists.
func (r *Repo) AddLabelTo(actor string, c *Change, label string) {
	if c.HasLabel(label) {
		return
	}
	c.Labels = append(c.Labels, label)
	c.History = append(c.History, LabelEvent{label, actor, true, r.world.tick()})
	r.Tell(Happening{Kind: forge.EventLabel, Actor: actor, Action: "labeled", Change: c, Label: label})
}

// RemoveLabelFrom takes a tag away, and says whether it was there.
func (r *Repo) RemoveLabelFrom(actor string, c *Change, label string) bool {
	if !c.HasLabel(label) {
		return false
	}
	c.Labels = slices.DeleteFunc(c.Labels, func(l string) bool { return strings.EqualFold(l, label) })
	c.History = append(c.History, LabelEvent{label, actor, false, r.world.tick()})
	r.Tell(Happening{Kind: forge.EventLabel, Actor: actor, Action: "unlabeled", Change: c, Label: label})
	return true
}

// AddComment adds to the conversation.
func (r *Repo) AddComment(actor string, c *Change, body string) *forge.Comment {
	r.world.counter++
	comment := &forge.Comment{ID: strconv.Itoa(r.world.counter), Author: actor, Body: body, CreatedAt: r.world.tick()}
	c.Comments = append(c.Comments, comment)
	r.Tell(Happening{Kind: forge.EventComment, Actor: actor, Action: "created", Change: c})
	return comment
}

// Comment finds a comment, and the change it is on; nil when there is none.
func (r *Repo) Comment(id string) (*forge.Comment, *Change) {
	for _, change := range r.Changes {
		for _, c := range change.Comments {
			if c.ID == id {
				return c, change
			}
		}
	}
	return nil, nil
}

// Issue finds an issue; nil when there is none.
func (r *Repo) Issue(number int) *Issue {
	for _, i := range r.Issues {
		if i.Number == number {
			return i
		}
	}
	return nil
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

// Edit edits an issue, under the rules that all forges have.
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
