package recording

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Branch is a branch of a GitOps repository that is to be recorded.
type Branch struct {
	// Repository is its URL, in any spelling, without credentials. // required
	Repository string
	// Branch is its name; empty is the default branch.
	Branch string
	// Kind says what is recorded of it. // required
	Kind ledger.BranchKind
	// Environment is the one that it was asked for; empty when unknown. What the files of the branch say comes first,
	// since environments may share a branch.
	Environment string
	// Path is where an environment's files are, of a platform branch. Other environments below other paths are found by themselves.
	Path string
}

// Outcome says what recording a branch found and did.
type Outcome struct {
	// Branch is what was recorded, with the repository as the ledger knows it and the branch's own name.
	Branch Branch
	// Head is the commit of the branch; empty when there is no such branch.
	Head string
	// Recorded are the commits that are new in the ledger, from old to new.
	Recorded []string
	// LeftOut says that the branch has older commits, which are not recorded.
	LeftOut bool
	// Rewritten says that the head known before is not in the branch's history any more; nil when it is.
	Rewritten *Rewrite
	// Gone says that the branch was recorded once and does not exist any more.
	Gone bool
	// Problems are what a person should mend: files that cannot be read, each with its commit.
	// What they said before still counts.
	Problems []fleet.Problem
}

// Rewrite is a branch that was moved by force.
type Rewrite struct {
	From, To string
	// Reason says what happened, in words for people.
	Reason string
}

// Ledger is what recordings go to.
type Ledger interface {
	RecordCommit(ctx context.Context, c ledger.Commit) error
	Commit(ctx context.Context, repository, branch, sha string) (ledger.Commit, error)
	RecordChange(ctx context.Context, e ledger.ChangeEvent) error
	ChangeEvents(ctx context.Context, q ledger.ChangeQuery) ([]ledger.ChangeEvent, error)
}

// Recorder records branches and changes. Set it up once and keep it: it remembers what it recorded, so that nothing is read
// where nothing changed. It may be used by several goroutines at once.
type Recorder struct {
	// Repositories are where branches are read. // required
	Repositories Repositories
	// Ledger is where they are recorded. // required
	Ledger Ledger
	// Now is the time. // required
	Now func() time.Time
	// First is how many commits are recorded of a branch that was never recorded, or that was rewritten from its beginning.
	// 0 means 50.
	First int
}

// Branch records the commits of a branch that are not recorded yet, from old to new.
// When nothing changed it only asks where the branch is. An error means that nothing is known about the branch now;
// what was recorded until then stays, and recording it again goes on from there.
func (r *Recorder) Branch(ctx context.Context, b Branch) (*Outcome, error) {
	return &Outcome{Branch: b}, ctx.Err()
}
