package record

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"
)

// Repositories reads GitOps branches.
type Repositories interface {
	// Head asks where a branch is now. An empty name is the default branch. The error is [ErrNoBranch] when there is no such branch.
	Head(ctx context.Context, repository, branch string) (Commit, error)
	// History returns a commit and those before it along first parents, the newest first: at most limit, and none from the
	// first one on for which until, if it is not nil, is true. More says that the limit left some out.
	// It uses what Head fetched and accesses no network.
	History(ctx context.Context, repository string, from Commit, until func(sha string) bool, limit int) (commits []Commit, more bool, err error)
	// Contains reports whether a commit is in the history of another one.
	Contains(ctx context.Context, repository, ancestor string, of Commit) (bool, error)
}

var (
	// ErrNoBranch means that the branch does not exist.
	ErrNoBranch = errors.New("no such branch")
	// ErrTooLarge means that a file exceeds the limit.
	ErrTooLarge = errors.New("too large")
)

// Commit is a commit of a GitOps branch.
type Commit struct {
	SHA string
	// Branch is the name of the branch, also of a default branch.
	Branch string
	// Time is when it was committed.
	Time time.Time
	// Tree has its files.
	Tree Tree
}

// Tree has the files of a commit.
type Tree interface {
	// List returns the entries of a folder. The zero value is the root; other folders come from List.
	List(ctx context.Context, folder Entry) ([]Entry, error)
	// Read returns the content of a file, or [ErrTooLarge] if it has more than limit bytes.
	Read(ctx context.Context, file Entry, limit int64) ([]byte, error)
}

// Entry is a file or a folder of a commit. Links and submodules are left out.
type Entry struct {
	// Path is relative to the root of the repository.
	Path string
	// Hash identifies the content, including that of subfolders.
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
