package record

import (
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Branch is a branch of a GitOps repository to record.
type Branch struct {
	// Repository is its URL, in any spelling, without credentials. // required
	Repository string
	// Branch is its name; empty is the default branch.
	Branch string
	// Kind says which content is recorded. // required
	Kind ledger.BranchKind
	// Environment is the one that uses the branch; empty if unknown.
	Environment string
	// Path is the environment's folder on a platform branch; empty is the root.
	// Files of other environments on the branch are recorded, too.
	Path string
}

// Outcome is the result of recording a branch.
type Outcome struct {
	// Branch has the repository in the spelling of the ledger, and the name of a default branch.
	Branch Branch
	// Head is the commit of the branch; empty if the branch does not exist.
	Head string
	// Recorded are the commits that are new in the ledger, from old to new.
	Recorded []string
	// LeftOut means that older commits were not recorded, because there are too many.
	LeftOut bool
	// Rewritten is set if the previous head is no longer in the branch's history.
	Rewritten *Rewrite
	// Gone means that the branch was recorded and no longer exists.
	Gone bool
	// Problems are unreadable files in the head and in new commits, each with its commit. Their previous content still counts.
	Problems []fleet.Problem
}

// Rewrite is a force push.
type Rewrite struct {
	From, To string
	// Reason explains to users what happened.
	Reason string
}

// Ledger is what a [Recorder] writes to.
type Ledger interface {
	ledger.Desired
	ledger.Changes
}

// Recorder records branches and pull requests. Keep one for the lifetime of a program: it caches what it recorded and reads only
// changes. It is safe for concurrent use.
type Recorder struct {
	// Repositories are where branches are read. // required
	Repositories Repositories
	// Ledger is where they are recorded. // required
	Ledger Ledger
	// Now is the time. // required
	Now func() time.Time
	// First is how many commits of a new branch are recorded. Default: 50.
	First int

	mu       sync.Mutex
	branches map[branchKey]*branchMemory
	changes  map[string]*changeMemory
	files    fileMemory
}

const (
	// defaultFirst is the default of Recorder.First.
	defaultFirst = 50
	// maxCatchUp is how many commits are searched for a recorded one.
	maxCatchUp = 10_000
)

func (r *Recorder) first() int {
	if r.First > 0 {
		return r.First
	}
	return defaultFirst
}

// branchKey identifies a branch; empty is the default branch.
type branchKey struct{ repository, branch string }

// branchMemory caches what the ledger knows of a branch.
type branchMemory struct {
	// turn admits one caller at a time.
	turn *semaphore.Weighted
	// asked are the environments that use the branch, by path.
	asked map[string]string
	// head is the last known head in the ledger; zero if none.
	head recordedHead
	// last is the previous outcome; nil before the first.
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
		m = &branchMemory{turn: semaphore.NewWeighted(1), asked: map[string]string{}}
		if r.branches == nil {
			r.branches = map[branchKey]*branchMemory{}
		}
		r.branches[key] = m
	}
	return m
}

// ask stores the environment that uses a branch, and reports whether that is new. On a platform branch, environments differ
// by path, so that a renamed one replaces its predecessor; on an application branch, by name.
func (m *branchMemory) ask(b Branch) (news bool) {
	key := b.Path
	if b.Kind == ledger.BranchApplication {
		key = b.Environment
	}
	was, known := m.asked[key]
	m.asked[key] = b.Environment
	return !known || was != b.Environment
}
