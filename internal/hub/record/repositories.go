package record

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"
)

// Repositories is where GitOps branches are read.
type Repositories interface {
	// Head asks where a branch is now. An empty name is the default branch. The error is [ErrNoBranch] when there is no such branch.
	Head(ctx context.Context, repository, branch string) (Commit, error)
	// History returns a commit and those before it along first parents, the newest first: at most limit, and none from the
	// first one on for which until, if it is not nil, is true. More says that the limit left some out.
	// It asks nobody but what Head brought.
	History(ctx context.Context, repository string, from Commit, until func(sha string) bool, limit int) (commits []Commit, more bool, err error)
	// Contains reports whether a commit is in the history of another one.
	Contains(ctx context.Context, repository, ancestor string, of Commit) (bool, error)
}

var (
	// ErrNoBranch says that a repository has no such branch.
	ErrNoBranch = errors.New("no such branch")
	// ErrTooLarge says that a file has more bytes than were asked for.
	ErrTooLarge = errors.New("too large")
)

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
	// List returns what is in a folder itself. The zero value is the root; others are entries that List returned.
	List(ctx context.Context, folder Entry) ([]Entry, error)
	// Read returns the content of a file. The error is [ErrTooLarge] for one that has more than limit bytes.
	Read(ctx context.Context, file Entry, limit int64) ([]byte, error)
}

// Entry is a file or a folder of a commit. Links and submodules are neither.
type Entry struct {
	// Path is relative to the root of the repository.
	Path string
	// Hash identifies the content, of a folder everything in it.
	Hash   string
	Folder bool
}

// lookup finds a file or folder by its path.
func lookup(ctx context.Context, tree Tree, wanted string) (at Entry, ok bool, err error) {
	for name := range strings.SplitSeq(wanted, "/") {
		entries, err := tree.List(ctx, at)
		if err != nil {
			return Entry{}, false, err
		}
		if at, ok = named(entries, path.Join(at.Path, name)); !ok {
			return Entry{}, false, nil
		}
		if !at.Folder && at.Path != wanted {
			return Entry{}, false, nil
		}
	}
	return at, true, nil
}

// named returns the entry with a path.
func named(entries []Entry, path string) (Entry, bool) {
	for _, e := range entries {
		if e.Path == path {
			return e, true
		}
	}
	return Entry{}, false
}
