package forge

import (
	"context"
	"errors"
)

// Forge is one installation that hosts repositories, used with one credential.
type Forge interface {
	// Kind returns the kind of forge.
	Kind() Kind
	// Limits returns the lengths that the forge accepts.
	Limits() Limits
	// Repository returns the repository of a URL. It sends no request, so that the repository may not exist.
	// The error is [ErrInvalid] if the URL does not belong to this forge.
	Repository(url string) (Repository, error)
}

// Repository is one repository on a forge.
type Repository interface {
	ID() ID
	PullRequests
	Labels
	Statuses
	Comments
	Issues
}

// PullRequests reads and writes pull requests.
type PullRequests interface {
	// FindPullRequests returns the pull requests that match a filter, by descending number.
	FindPullRequests(ctx context.Context, f PullRequestFilter) ([]PullRequest, error)
	// PullRequest returns one pull request with all fields.
	PullRequest(ctx context.Context, number int) (PullRequest, error)
	// OpenPullRequest opens a pull request. The error is [ErrConflict] if one is already open with the same head and base,
	// and [ErrInvalid] or [ErrNotFound], depending on the forge, if a branch does not exist.
	OpenPullRequest(ctx context.Context, c NewPullRequest) (PullRequest, error)
	// EditPullRequest changes a pull request. The error is [ErrConflict] when reopening a merged one.
	EditPullRequest(ctx context.Context, number int, e PullRequestEdit) error
	// MergePullRequest merges a pull request, and returns the new commit of the base branch.
	// Without a method, it makes a merge commit, or what the repository allows instead.
	// The error is [ErrConflict] if the head is not m.Head, the branches conflict, a required check is missing,
	// or the pull request is closed. Merging again at the same head is not an error.
	MergePullRequest(ctx context.Context, number int, m Merge) (commit string, err error)
}

// Labels manages the labels of a repository and its pull requests.
type Labels interface {
	// EnsureLabel creates a label if the repository does not have it. It does not change existing labels,
	// which users may have edited.
	EnsureLabel(ctx context.Context, l Label) error
	// AddLabels adds existing labels of the repository to a pull request.
	AddLabels(ctx context.Context, number int, names ...string) error
	// RemoveLabel removes a label from a pull request. Removing a missing label is not an error.
	RemoveLabel(ctx context.Context, number int, name string) error
}

// Statuses reads and sets the statuses of commits.
type Statuses interface {
	// SetStatus replaces the status of a commit with the same context.
	// The error is [ErrNotFound] if the commit does not exist, and [ErrTooMany] if it has as many statuses as the
	// forge stores.
	SetStatus(ctx context.Context, commit string, s Status) error
	// Statuses returns the latest status of each context, sorted by context.
	Statuses(ctx context.Context, commit string) ([]Status, error)
}

// Comments reads and writes comments on pull requests.
type Comments interface {
	// Comments returns the comments, the oldest first.
	Comments(ctx context.Context, number int) ([]Comment, error)
	// UpsertComment creates the comment with a marker, or edits it if its text differs from body.
	// It ignores markers in comments of other accounts, and in quotes.
	UpsertComment(ctx context.Context, number int, marker, body string) (Comment, error)
}

// Issues reads and writes issues.
type Issues interface {
	// FindIssues returns the issues that match a filter, the newest first. Pull requests are not issues.
	FindIssues(ctx context.Context, f IssueFilter) ([]Issue, error)
	// OpenIssue opens an issue with existing labels of the repository.
	OpenIssue(ctx context.Context, i NewIssue) (Issue, error)
	// EditIssue changes an issue.
	EditIssue(ctx context.Context, number int, e IssueEdit) error
}

// Forges are the configured forges.
type Forges []Forge

// Forge returns the first forge that hosts a repository. The error is of kind [ErrInvalid] if no forge does.
func (all Forges) Forge(url string) (Forge, error) {
	if _, err := ParseID(url); err != nil {
		return nil, err
	}
	for _, f := range all {
		if _, err := f.Repository(url); err == nil || !errors.Is(err, ErrInvalid) {
			return f, err
		}
	}
	return nil, &Error{
		Kind: ErrInvalid, Op: "find repository", Where: redact(url), Detail: "no configured forge hosts it",
		Hint: "configure the forge of this host",
	}
}
