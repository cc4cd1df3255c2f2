package mergetree

import (
	"container/heap"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// What is known about a commit during the walk.
const (
	fromFirst uint8 = 1 << iota
	fromSecond
	// stale commits are ancestors of a common ancestor: common as well, but not the best.
	stale
	found
)

// Base returns the best common ancestor of two commits, the youngest where there are several; the zero hash if there is none.
//
// The walk goes from young to old and stops as soon as only ancestors of what was found are left,
// so that it reads about as many commits as the two histories differ by.
func Base(s storer.EncodedObjectStorer, first, second plumbing.Hash) (plumbing.Hash, error) {
	if first == second {
		return first, nil
	}
	w := walk{storage: s, marks: map[plumbing.Hash]uint8{}}
	if err := w.mark(first, fromFirst); err != nil {
		return plumbing.ZeroHash, err
	}
	if err := w.mark(second, fromSecond); err != nil {
		return plumbing.ZeroHash, err
	}
	var bases []plumbing.Hash
	for w.undecided() {
		base, err := w.step()
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if !base.IsZero() {
			bases = append(bases, base)
		}
	}
	for _, base := range bases {
		if w.marks[base]&stale == 0 {
			return base, nil
		}
	}
	return plumbing.ZeroHash, nil
}

// Contains reports whether a commit is another one or has it among its ancestors.
func Contains(s storer.EncodedObjectStorer, commit, other plumbing.Hash) (bool, error) {
	base, err := Base(s, commit, other)
	return base == other && err == nil, err
}

// walk visits commits from young to old.
type walk struct {
	storage storer.EncodedObjectStorer
	queue   young
	marks   map[plumbing.Hash]uint8
}

// mark remembers what is new about a commit, and visits it if something is.
func (w *walk) mark(hash plumbing.Hash, marks uint8) error {
	if w.marks[hash]&marks == marks {
		return nil
	}
	commit, err := object.GetCommit(w.storage, hash)
	if err != nil {
		return fmt.Errorf("read commit %s: %w", hash, err)
	}
	w.marks[hash] |= marks
	heap.Push(&w.queue, commit)
	return nil
}

// step visits the youngest commit, and returns it if it is a common ancestor that was not known.
func (w *walk) step() (plumbing.Hash, error) {
	commit := heap.Pop(&w.queue).(*object.Commit) //nolint:errcheck,forcetypeassert // only commits are pushed
	var base plumbing.Hash
	marks := w.marks[commit.Hash]
	pass := marks & (fromFirst | fromSecond | stale)
	if pass == fromFirst|fromSecond {
		if marks&found == 0 {
			w.marks[commit.Hash] |= found
			base = commit.Hash
		}
		pass |= stale
	}
	for _, parent := range commit.ParentHashes {
		if err := w.mark(parent, pass); err != nil {
			return base, err
		}
	}
	return base, nil
}

// undecided reports whether a commit is left to visit that could lead to another common ancestor.
func (w *walk) undecided() bool {
	for _, c := range w.queue {
		if w.marks[c.Hash]&stale == 0 {
			return true
		}
	}
	return false
}

// young is a heap with the youngest commit on top.
type young []*object.Commit

func (y young) Len() int           { return len(y) }
func (y young) Less(i, j int) bool { return y[i].Committer.When.After(y[j].Committer.When) }
func (y young) Swap(i, j int)      { y[i], y[j] = y[j], y[i] }

// Push adds a commit; it is for package heap.
func (y *young) Push(c any) { *y = append(*y, c.(*object.Commit)) } //nolint:errcheck,forcetypeassert // only commits are pushed

// Pop removes the last commit; it is for package heap.
func (y *young) Pop() any {
	last := (*y)[len(*y)-1]
	*y = (*y)[:len(*y)-1]
	return last
}
