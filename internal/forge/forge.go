package forge

import (
	"context"
	"errors"
)

// Forge is one installation that hosts repositories, seen with one credential.
type Forge interface {
	// Kind is the make of the forge.
	Kind() Kind
	// Limits are what the forge takes at most.
	Limits() Limits
	// Repository returns the repository of a URL. It asks nobody, so that the repository may not exist.
	// The error is of kind [ErrInvalid] when the URL is not one of this forge.
	Repository(url string) (Repository, error)
}

// Repository is one repository on a forge. Callers declare which of its parts they use.
type Repository interface {
	ID() ID
	PullRequests
	Labels
	Statuses
	Comments
	Issues
}

// PullRequests are the requests to merge a branch of a repository into another one.
type PullRequests interface {
	// FindPullRequests returns the pull requests that a filter lets through, the newest first: by descending number.
	FindPullRequests(ctx context.Context, f PullRequestFilter) ([]PullRequest, error)
	// PullRequest returns one pull request with everything the forge knows of it.
	PullRequest(ctx context.Context, number int) (PullRequest, error)
	// OpenPullRequest opens a pull request. That one is open already from the same head to the same base is [ErrConflict];
	// that a branch does not exist, [ErrInvalid] or [ErrNotFound], as the forge sees it.
	OpenPullRequest(ctx context.Context, c NewPullRequest) (PullRequest, error)
	// EditPullRequest makes a pull request what the edit says. To open a merged pull request again is [ErrConflict].
	EditPullRequest(ctx context.Context, number int, e PullRequestEdit) error
	// MergePullRequest merges a pull request and returns the commit that is then on the base branch.
	// [ErrConflict] means not now: the head is another one than m.Head, the branches conflict, a required check is missing,
	// or the pull request is closed. To merge what was merged already, at the same head, is no error.
	MergePullRequest(ctx context.Context, number int, m Merge) (commit string, err error)
}

// Labels are the words that changes are tagged with.
type Labels interface {
	// EnsureLabel creates a label that the repository does not have. One that is there stays as it is,
	// since people may have given it another colour.
	EnsureLabel(ctx context.Context, l Label) error
	// AddLabels adds labels that exist in the repository to a pull request.
	AddLabels(ctx context.Context, change int, names ...string) error
	// RemoveLabel takes a label from a pull request. That the pull request does not have it is no error.
	RemoveLabel(ctx context.Context, change int, name string) error
}

// Statuses are what programs say about commits.
type Statuses interface {
	// SetStatus sets what is said about a commit under a context, in place of what was said before.
	// [ErrNotFound] or [ErrInvalid] when there is no such commit.
	SetStatus(ctx context.Context, commit string, s Status) error
	// Statuses returns the latest status of each context, sorted by context.
	Statuses(ctx context.Context, commit string) ([]Status, error)
}

// Comments are the conversation on a pull request.
type Comments interface {
	// Comments returns the comments on a pull request, the oldest first.
	Comments(ctx context.Context, change int) ([]Comment, error)
	// UpsertComment makes the one comment with a marker say body: it creates it, or edits the one that is there
	// if it says something else. A marker that somebody else wrote or quoted does not count.
	UpsertComment(ctx context.Context, change int, marker, body string) (Comment, error)
}

// Issues are the problems that a repository's people should look at.
type Issues interface {
	// FindIssues returns the issues that a filter lets through, the newest first. Changes are no issues.
	FindIssues(ctx context.Context, f IssueFilter) ([]Issue, error)
	// OpenIssue opens an issue, with labels that exist in the repository.
	OpenIssue(ctx context.Context, i NewIssue) (Issue, error)
	// EditIssue makes an issue what the edit says.
	EditIssue(ctx context.Context, number int, e IssueEdit) error
}

// Forges are all that are configured.
type Forges []Forge

// Repository returns the repository of a URL, from the first forge whose it is.
// The error is of kind [ErrInvalid] when it is none's.
func (all Forges) Repository(url string) (Repository, error) {
	if _, err := ParseID(url); err != nil {
		return nil, err
	}
	for _, f := range all {
		r, err := f.Repository(url)
		if err == nil || !errors.Is(err, ErrInvalid) {
			return r, err
		}
	}
	return nil, &Error{
		Kind: ErrInvalid, Op: "find repository", Where: redact(url), Detail: "no configured forge hosts it",
		Hint: "configure the forge of this host",
	}
}
