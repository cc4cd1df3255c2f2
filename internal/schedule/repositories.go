package schedule

import (
	"context"
	"errors"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// Location is a folder on a branch of a repository.
type Location struct {
	// Repo is a URL or a path. Folder is a plain folder to read instead of a branch; all other fields except Path are ignored then.
	Repo, Folder string
	// Branch is the name of the branch. Default: the default branch.
	Branch string
	// Commit is a commit of the branch, or [Uncommitted]. Default: its head.
	Commit string
	// Path is clean and relative to the root. Default: the root.
	Path string
}

// Repositories reads control planes, their sources and GitOps branches.
type Repositories interface {
	// Source lists the YAML files at a location, without ignored files. It returns [ErrNoBranch], [ErrNoCommit], or
	// another error if the repository cannot be read.
	Source(ctx context.Context, at Location) (fleet.Source, error)
	// Environments lists the YAML files at a location, including ignored ones.
	Environments(ctx context.Context, at Location) (fleet.Source, error)
	// Files lists all files at a location, by path from the root of the repository. A folder that does not exist has none.
	Files(ctx context.Context, at Location) ([]fleet.File, error)
	// GitOps returns a branch, whose folders are read when they are needed, and its commit.
	GitOps(ctx context.Context, at Location) (bundle.Branch, Head, error)
	// Same reports whether two URLs are of the same repository.
	Same(a, b string) bool
	// Contains reports whether a commit is in the history of a branch.
	Contains(ctx context.Context, branch Location, commit string) (bool, error)
	// Fork returns the newest commit that the history of a commit shares with a branch. ref is where the commit can be
	// fetched from if it is not on a branch of the repository.
	Fork(ctx context.Context, branch Location, ref, commit string) (string, error)
	// Resolve resolves a URL in a document of a repository. Like the URLs of Git submodules, it can be relative to that
	// repository. It returns an error for a local path in the document of a remote repository.
	Resolve(repository, url string) (string, error)
}

// Head is the newest commit of a branch; zero for a plain folder.
type Head struct {
	Commit string
	Time   time.Time
}

// GitOpsBranch is the current state of a GitOps branch.
type GitOpsBranch struct {
	Location Location
	// Head is zero for a branch that does not exist.
	Head
	Exists bool
}

// String returns the branch with its commit: "gitops dev@8c6fb4a".
func (b *GitOpsBranch) String() string {
	switch {
	case b.Location.Folder != "" || b.Exists && b.Commit == "":
		return b.name()
	case !b.Exists:
		return b.name() + " (does not exist yet)"
	}
	return b.name() + "@" + fleet.ShortCommit(b.Commit)
}

// name returns the name of the branch, or the folder that replaces it.
func (b *GitOpsBranch) name() string {
	if b.Location.Folder != "" {
		return b.Location.Folder
	}
	return "gitops " + b.Location.Branch
}

// Errors of [Repositories].
var (
	// ErrNoBranch is returned if the repository does not have the branch.
	ErrNoBranch = errors.New("no such branch")
	// ErrNoCommit is returned if the repository does not have the commit, or an abbreviated one is ambiguous.
	ErrNoCommit = errors.New("no such commit")
)
