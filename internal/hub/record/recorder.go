package record

import (
	"sync"
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
	// Environment is the one that it was asked for; empty when unknown.
	Environment string
	// Path is where the files of the environment are, of a platform branch; empty is the root.
	// What other environments have below other paths of the branch is recorded with it.
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
	// LeftOut says that there are older commits, which were not recorded because they are too many.
	LeftOut bool
	// Rewritten says that the head known before is not in the branch's history any more; nil when it is.
	Rewritten *Rewrite
	// Gone says that the branch was recorded once and does not exist any more.
	Gone bool
	// Problems are what a person should mend in the head and in the commits that are new: files that cannot be read, each
	// with its commit. What such a file said before still counts.
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
	ledger.Desired
	ledger.Changes
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
	// First is how many commits are recorded of a branch that has none in the ledger. 0 means 50.
	First int

	mu       sync.Mutex
	branches map[branchKey]*branchMemory
	changes  map[string]*changeMemory
	files    fileMemory
}

const (
	// defaultFirst is Recorder.First where nobody says more.
	defaultFirst = 50
	// maxCatchUp is how many commits are looked at to find one that is recorded.
	maxCatchUp = 10_000
)

func (r *Recorder) first() int {
	if r.First > 0 {
		return r.First
	}
	return defaultFirst
}

// branchKey is a branch as it is asked for.
type branchKey struct{ repository, branch string }

// branchMemory is what is known of a branch without asking the ledger.
type branchMemory struct {
	mu sync.Mutex
	// asked are the environments that the branch was asked for, by the path of each.
	asked map[string]string
	// head is what the ledger had as its head when it was asked last; zero for none.
	head recordedHead
	// last is the outcome of before; nil before the first.
	last *Outcome
	// problems are those of the head.
	problems []fleet.Problem
}

// recordedHead is the head of a branch in the ledger.
type recordedHead struct {
	sha, environment string
	kind             ledger.BranchKind
}

func (r *Recorder) remembered(repository, branch string) *branchMemory {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := branchKey{repository, branch}
	m, ok := r.branches[key]
	if !ok {
		m = &branchMemory{asked: map[string]string{}}
		if r.branches == nil {
			r.branches = map[branchKey]*branchMemory{}
		}
		r.branches[key] = m
	}
	return m
}

// ask notes for whom a branch is recorded, and reports whether that is news. An environment that was renamed has the path of
// its predecessor, whose place it takes; those that share an application branch are told apart by their names.
func (m *branchMemory) ask(b Branch) (news bool) {
	key := b.Path
	if b.Kind == ledger.BranchApplication {
		key = b.Environment
	}
	was, known := m.asked[key]
	m.asked[key] = b.Environment
	return !known || was != b.Environment
}
