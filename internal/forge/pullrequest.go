package forge

import (
	"slices"
	"strings"
	"time"
)

// State is the state of a pull request or an issue.
type State string

// The states. Issues are never merged. A merged pull request is not closed.
const (
	Open   State = "open"
	Closed State = "closed"
	Merged State = "merged"
)

// PullRequest is a request to merge one branch into another.
type PullRequest struct {
	Number int
	// URL is its page.
	URL         string
	Title, Body string
	State       State
	Draft       bool
	// Author is the login of the account that opened it, AuthorAccount its ID as in [Review.Account]; empty if the account was deleted.
	Author, AuthorAccount string
	// EndedBy is who closed or merged it, if the forge tells; only [PullRequests.PullRequest] sets it.
	EndedBy string
	// EndedAt is when it was closed or merged; zero if open.
	EndedAt time.Time
	// Head is merged into Base. For a merged pull request, Head.Commit is the commit that was merged.
	Head, Base Ref
	// Fetch is the ref of the base repository to fetch the head commit from, such as "refs/pull/1/head". It works for forks, too;
	// it is empty for those on Bitbucket Cloud, where it does not exist.
	Fetch string
	// MergeCommit is the commit on the base branch that the merge made; empty if not merged or unknown.
	MergeCommit string
	// Labels are sorted.
	Labels []string
	// Mergeable reports whether the branches merge without conflicts; only [PullRequests.PullRequest] sets it.
	Mergeable Mergeable
	CreatedAt time.Time
}

// HasLabel reports whether the pull request has a label, ignoring case.
func (p PullRequest) HasLabel(name string) bool { return hasLabel(p.Labels, name) }

func hasLabel(labels []string, name string) bool {
	return slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, name) })
}

// Ref is the head or base of a pull request.
type Ref struct {
	Branch string
	Commit string
	// Fork is the path of the branch's repository, if that is not the repository of the pull request.
	// It is "unknown" if the fork is deleted or hidden.
	Fork string
}

// Mergeable says whether branches merge. Forges compute it in the background.
type Mergeable string

// The values of Mergeable.
const (
	MergeableUnknown Mergeable = ""
	MergeableYes     Mergeable = "yes"
	MergeableNo      Mergeable = "no"
)

// PullRequestFilter selects pull requests. An empty field matches all.
type PullRequestFilter struct {
	State State
	// Head and Base are branches of this repository. Heads in forks never match.
	Head, Base string
	// Limit is the maximum number of results, the newest; 0 means no limit. It saves requests.
	Limit int
}

// Matches reports whether a pull request matches the filter, ignoring Limit.
func (f PullRequestFilter) Matches(p PullRequest) bool {
	return (f.State == "" || p.State == f.State) &&
		(f.Head == "" || (p.Head.Branch == f.Head && p.Head.Fork == "")) &&
		(f.Base == "" || p.Base.Branch == f.Base)
}

// NewPullRequest describes a pull request to open between two branches of the repository.
type NewPullRequest struct {
	Head  string // required
	Base  string // required
	Title string // required
	Body  string
	// Draft marks it as not ready to be merged. Some forges use a prefix of the title.
	Draft bool
}

// PullRequestEdit changes a pull request. Nil fields are kept.
type PullRequestEdit struct {
	Title, Body *string
	// Base is the branch to merge into.
	Base *string
	// State is Open or Closed.
	State *State
}

// Empty reports whether the edit has no field set.
func (e PullRequestEdit) Empty() bool { return e == PullRequestEdit{} }

// MergeMethod is the way to merge.
type MergeMethod string

// The methods.
const (
	// MergeCommits makes a merge commit. It is the default.
	MergeCommits MergeMethod = "merge"
	// MergeSquash makes a single commit.
	MergeSquash MergeMethod = "squash"
	// MergeRebase repeats the commits on the base branch. It is used where a repository allows nothing else.
	MergeRebase MergeMethod = "rebase"
)

// Merge describes a merge.
type Merge struct {
	// Head is the expected head; the merge fails if the head moved.
	Head string // required
	// Method defaults to MergeCommits, or to the first of MergeSquash and MergeRebase that the repository allows.
	Method MergeMethod
	// Title and Message are those of the merge commit; they default to the forge's.
	Title, Message string
}

// Methods returns the ways to merge to try, in this order.
func (m Merge) Methods() []MergeMethod {
	if m.Method != "" {
		return []MergeMethod{m.Method}
	}
	return []MergeMethod{MergeCommits, MergeSquash, MergeRebase}
}
