package recording

import (
	"context"
	"errors"
	"time"
)

// Repositories is where GitOps branches are read.
type Repositories interface {
	// Head asks where a branch is now. An empty name is the default branch. The error is [ErrNoBranch] when there is no such branch.
	Head(ctx context.Context, repository, branch string) (Commit, error)
	// History returns a commit and those before it along first parents, the newest first: at most limit, and none from the
	// first one on for which until is true. More says that the limit left some out. It asks nobody but what Head brought.
	History(ctx context.Context, repository string, from Commit, until func(sha string) bool, limit int) (commits []Commit, more bool, err error)
	// Contains reports whether a commit is in the history of another one.
	Contains(ctx context.Context, repository, ancestor string, of Commit) (bool, error)
}

// ErrNoBranch says that there is no such branch.
var ErrNoBranch = errors.New("no such branch")

// Commit is a commit of a GitOps branch.
type Commit struct {
	SHA string
	// Branch is the branch's own name, also where the default branch was asked for.
	Branch string
	// Time is when it was committed.
	Time time.Time
	// Tree has its files.
	Tree Tree
}

// Tree has the files of a commit.
type Tree interface {
	// List returns what is in a folder, by name, without what is in the folders of it. A folder that does not exist is empty.
	List(ctx context.Context, folder string) ([]Entry, error)
	// Read returns the content of a file, and an error for one that has more than limit bytes.
	Read(ctx context.Context, file Entry, limit int64) ([]byte, error)
}

// Entry is a file or a folder of a commit.
type Entry struct {
	// Path is relative to the root of the repository.
	Path string
	// Hash identifies the content.
	Hash   string
	Folder bool
}
