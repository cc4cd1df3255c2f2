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
	// Repo is a URL or a path. Folder is a plain folder that stands in for a branch; then the other fields but Path do not count.
	Repo, Folder string
	// Branch may be empty for the default branch.
	Branch string
	// Commit is a commit of the branch; empty means its head.
	Commit string
	// Path is clean and relative to the root; empty means the root.
	Path string
}

// Repositories is where the sources come from.
type Repositories interface {
	// Source lists the YAML files at a location, without what ignore files and conventions leave out.
	// Errors are [ErrNoBranch] where the repository has no such branch, [ErrNoCommit] where it has no such commit, and any other
	// where it cannot be read.
	Source(ctx context.Context, at Location) (fleet.Source, error)
	// Environments lists the YAML files at a location, those included that ignore files name.
	Environments(ctx context.Context, at Location) (fleet.Source, error)
	// Files lists all files at a location, their paths relative to the root of the repository. A folder that does not exist has none.
	Files(ctx context.Context, at Location) ([]fleet.File, error)
	// GitOps lists all files of a branch and returns the commit they were read at.
	GitOps(ctx context.Context, at Location) (bundle.Branch, Head, error)
	// Same reports whether two URLs lead to one repository.
	Same(a, b string) bool
	// Contains reports whether a commit lies in the history of a branch.
	Contains(ctx context.Context, branch Location, commit string) (bool, error)
	// Fork returns the commit at which the history of a commit left that of a branch. ref is where the commit can be fetched
	// from, when it is not on a branch of the repository.
	Fork(ctx context.Context, branch Location, ref, commit string) (string, error)
	// Resolve returns the URL that a document of a repository means by a URL that may be relative to that repository,
	// as those of Git submodules are. A repository elsewhere cannot point to this machine.
	Resolve(repository, url string) (string, error)
}

// Head is the commit at the end of a branch; zero for a plain folder.
type Head struct {
	Commit string
	Time   time.Time
}

// ErrNoBranch says that a repository exists and the branch does not.
var ErrNoBranch = errors.New("no such branch")

// ErrNoCommit says that a repository exists and the commit does not, or that several begin as it is written.
var ErrNoCommit = errors.New("no such commit")
