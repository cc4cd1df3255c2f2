package pullrequest

import (
	"context"
	"errors"
	"time"
)

// Committer writes commits to repositories.
type Committer interface {
	// Commit writes a commit that is on no branch yet, and returns its id.
	// The same request makes the same commit.
	Commit(ctx context.Context, c Commit) (string, error)
	// Head returns the commit of a branch; empty if the branch does not exist.
	Head(ctx context.Context, repo, branch string) (string, error)
	// Push moves a branch to a commit if it is at old, which is empty for a branch that does not exist yet.
	// Otherwise the error is [ErrMoved]; it is [ErrBusy] while another process moves it.
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

// ErrMoved is the error for a branch, or its pull request, that changed since it was read. The next round reads it again.
var ErrMoved = errors.New("the branch moved")

// ErrBusy is the error while another process moves a branch, which takes a moment.
var ErrBusy = errors.New("the branch is being moved")
