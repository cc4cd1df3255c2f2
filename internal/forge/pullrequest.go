package forge

import (
	"slices"
	"strings"
	"time"
)

// State says where a pull request or an issue stands.
type State string

// The states. An issue is never merged; a merged pull request is not closed.
const (
	Open   State = "open"
	Closed State = "closed"
	Merged State = "merged"
)

// PullRequest is a request to merge one branch into another.
type PullRequest struct {
	Number int
	// URL is its page for people.
	URL         string
	Title, Body string
	State       State
	Draft       bool
	// Author is who opened it.
	Author string
	// EndedBy is who closed or merged it, where the forge tells; only [PullRequests.PullRequest] looks it up.
	EndedBy string
	// EndedAt is when it was closed or merged; zero while it is open.
	EndedAt time.Time
	// Head is what would be merged, Base where to. For a merged pull request, Head.Commit is what was merged.
	Head, Base Ref
	// Fetch is the ref of the base's repository under which the head commit can be fetched,
	// which also works when the head is in a fork: "refs/pull/1/head".
	Fetch string
	// MergeCommit is the commit on the base branch that a merge made; empty before, and where it is unknown.
	MergeCommit string
	// Labels are sorted.
	Labels []string
	// Mergeable says whether the branches merge without a conflict; only [PullRequests.PullRequest] looks it up.
	Mergeable Mergeable
	CreatedAt time.Time
}

// HasLabel reports whether a pull request has a label; forges do not tell labels apart by case.
func (c PullRequest) HasLabel(name string) bool {
	return slices.ContainsFunc(c.Labels, func(l string) bool { return strings.EqualFold(l, name) })
}

// Ref is one end of a pull request.
type Ref struct {
	Branch string
	Commit string
	// Fork is the path of the repository the branch is in, when it is another one than the pull request's.
	// "unknown" stands for one that is gone or cannot be seen.
	Fork string
}

// Mergeable says whether branches merge. Forges compute it in the background.
type Mergeable string

// What is known about merging.
const (
	MergeableUnknown Mergeable = ""
	MergeableYes     Mergeable = "yes"
	MergeableNo      Mergeable = "no"
)

// PullRequestFilter selects changes; an empty field does not restrict.
type PullRequestFilter struct {
	State State
	// Head and Base are branches of this repository; changes from forks have no head here.
	Head, Base string
	// Limit is how many are wanted; 0 means all. The newest matter most, and a limit spares requests.
	Limit int
}

// Matches reports whether a pull request passes the filter, its limit aside.
func (f PullRequestFilter) Matches(c PullRequest) bool {
	return (f.State == "" || c.State == f.State) &&
		(f.Head == "" || (c.Head.Branch == f.Head && c.Head.Fork == "")) &&
		(f.Base == "" || c.Base.Branch == f.Base)
}

// NewPullRequest is a pull request to be opened, between two branches of its repository.
type NewPullRequest struct {
	Head  string // required
	Base  string // required
	Title string // required
	Body  string
	// Draft says that it is not meant to be merged yet; some forges say it with a word before the title.
	Draft bool
}

// PullRequestEdit says what a pull request should be; what is nil stays.
type PullRequestEdit struct {
	Title, Body *string
	// Base is the branch to merge into.
	Base *string
	// State is Open or Closed.
	State *State
}

// Empty reports whether the edit changes nothing.
func (e PullRequestEdit) Empty() bool { return e == PullRequestEdit{} }

// MergeMethod is how the head comes onto the base.
type MergeMethod string

// The methods.
const (
	// MergeCommits makes a merge commit; it is what the zero value means.
	MergeCommits MergeMethod = "merge"
	// MergeSquash makes one commit of all.
	MergeSquash MergeMethod = "squash"
)

// Merge says how to merge a pull request.
type Merge struct {
	// Head is the commit that was judged; nothing is merged when the head is another one.
	Head   string // required
	Method MergeMethod
	// Title and Message are the merge commit's; the forge's own when empty.
	Title, Message string
}
