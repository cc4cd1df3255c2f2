package pullrequest

import (
	"context"
	"errors"
	"time"
)

// Committer writes commits to repositories.
type Committer interface {
	// Commit writes a commit, which no branch leads to yet, and returns its id.
	// The same request makes the same id.
	Commit(ctx context.Context, c Commit) (string, error)
	// Head returns the commit of a branch; empty when there is no such branch.
	Head(ctx context.Context, repo, branch string) (string, error)
	// Push moves a branch to a commit if it is at old, which is empty for a branch that does not exist yet.
	// Otherwise the error is [ErrMoved]; it is [ErrBusy] while somebody else moves it.
	Push(ctx context.Context, repo, branch, old, commit string) error
}

// Commit is a commit to be made.
type Commit struct {
	Repo string
	// Branch has the parent in its history.
	Branch string
	// Parent is the commit to build on; empty makes a first commit.
	Parent  string
	Put     map[string][]byte
	Delete  []string
	Message string
	When    time.Time
}

// ErrMoved says that a branch is not where it was when it was read; the next round reads it again.
var ErrMoved = errors.New("the branch moved")

// ErrBusy says that somebody else is about to move a branch, which is over in a moment.
var ErrBusy = errors.New("the branch is being moved")
