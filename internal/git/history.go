package git

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// MergeBase returns the commit at which the history of a commit diverged from that of another: the first one,
// going back from c breadth first, that other equals or descends from.
// Both must have been resolved by this repository. The error is ErrCommitNotFound if they share no history.
func (r *Repository) MergeBase(ctx context.Context, c, other Commit) (Commit, error) {
	ours, err := r.ancestors(ctx, other)
	if err != nil {
		return Commit{}, err
	}
	base := plumbing.ZeroHash
	err = r.walkBack(ctx, c, func(hash plumbing.Hash) bool {
		if ours[hash] {
			base = hash
		}
		return base.IsZero()
	})
	if err != nil {
		return Commit{}, err
	}
	if base.IsZero() {
		return Commit{}, &Error{
			Kind: ErrCommitNotFound, Op: fmt.Sprintf("find where %s and %s begin in", c.Short(), other.Short()), Where: r.Name,
			Detail: "their histories have nothing in common", Hint: "rebase the one onto the other",
		}
	}
	found, err := r.readCommit(ctx, base)
	found.Branch = other.Branch
	return found, err
}

// IsAncestor reports whether a commit is in the history of another one, or equals it.
func (r *Repository) IsAncestor(ctx context.Context, ancestor string, of Commit) (bool, error) {
	wanted, ok := parseHash(ancestor)
	if !ok {
		return false, &Error{Kind: ErrInvalid, Op: fmt.Sprintf("look for commit %q in", secret.Line(ancestor)), Where: r.Name, Detail: "it is not a commit id"}
	}
	found := false
	err := r.walkBack(ctx, of, func(hash plumbing.Hash) bool {
		found = hash == wanted
		return !found
	})
	return found, err
}

// History returns a commit and its ancestors along first parents, newest first, with from's branch:
// the commits that the branch itself pointed to, without merged ones. It ends before the first commit for which until
// is true, unless until is nil, and after limit commits; 0 means no limit. more reports that the list is cut off although
// until did not end it: by the limit, or because a shallow clone lacks older commits.
//
// The commit must have been resolved by this repository. History does not contact remotes.
func (r *Repository) History(ctx context.Context, from Commit, until func(hash string) bool, limit int) (commits []Commit, more bool, err error) {
	next, ok := parseHash(from.Hash)
	if !ok || r.store() == nil {
		return nil, false, r.noHistory()
	}
	for until == nil || !until(next.String()) {
		if limit > 0 && len(commits) == limit {
			return commits, true, nil
		}
		content, c, err := r.decodeHistory(ctx, next)
		if errors.Is(err, plumbing.ErrObjectNotFound) && len(commits) > 0 && r.store().shallow() {
			return commits, true, nil
		}
		if err != nil {
			return nil, false, r.historyError(ctx, err)
		}
		found := describeCommit(next, content, c)
		found.Branch = from.Branch
		commits = append(commits, found)
		if len(c.ParentHashes) == 0 {
			return commits, false, nil
		}
		next = c.ParentHashes[0]
	}
	return commits, false, nil
}

// Merged returns the commits that a merge brought to its branch: its other parents and their ancestors, up to those for which on is true,
// at most limit of them. It is nil for a commit that is no merge. The commit must have been resolved by this repository.
func (r *Repository) Merged(ctx context.Context, merge Commit, on func(hash string) bool, limit int) ([]Commit, error) {
	start, ok := parseHash(merge.Hash)
	if !ok || r.store() == nil {
		return nil, r.noHistory()
	}
	parents, err := r.parents(ctx, start)
	if err != nil || len(parents) < 2 {
		return nil, err
	}
	var merged []Commit
	seen := map[plumbing.Hash]bool{}
	for queue := parents[1:]; len(queue) > 0 && len(merged) < limit; queue = queue[1:] {
		if seen[queue[0]] || on(queue[0].String()) {
			continue
		}
		seen[queue[0]] = true
		content, c, err := r.decodeHistory(ctx, queue[0])
		if errors.Is(err, plumbing.ErrObjectNotFound) && r.store().shallow() {
			continue
		}
		if err != nil {
			return nil, r.historyError(ctx, err)
		}
		found := describeCommit(queue[0], content, c)
		found.Branch = merge.Branch
		merged = append(merged, found)
		queue = append(queue, c.ParentHashes...)
	}
	return merged, nil
}

func (r *Repository) ancestors(ctx context.Context, c Commit) (map[plumbing.Hash]bool, error) {
	all := map[plumbing.Hash]bool{}
	err := r.walkBack(ctx, c, func(hash plumbing.Hash) bool {
		all[hash] = true
		return true
	})
	return all, err
}

// walkBack visits a commit and its history breadth first, each commit once, until visit returns false.
// It ends where the history of a shallow clone does.
func (r *Repository) walkBack(ctx context.Context, from Commit, visit func(plumbing.Hash) bool) error {
	start, ok := parseHash(from.Hash)
	if !ok || r.store() == nil {
		return r.noHistory()
	}
	seen := map[plumbing.Hash]bool{start: true}
	for queue := []plumbing.Hash{start}; len(queue) > 0; queue = queue[1:] {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !visit(queue[0]) {
			return nil
		}
		parents, err := r.parents(ctx, queue[0])
		if err != nil {
			return err
		}
		for _, p := range parents {
			if !seen[p] {
				seen[p] = true
				queue = append(queue, p)
			}
		}
	}
	return nil
}

func (r *Repository) parents(ctx context.Context, hash plumbing.Hash) ([]plumbing.Hash, error) {
	_, c, err := r.decodeHistory(ctx, hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) && r.store().shallow() {
		return nil, nil
	}
	if err != nil {
		return nil, r.historyError(ctx, err)
	}
	return c.ParentHashes, nil
}

// decodeHistory reads one commit of a history, without its tree.
func (r *Repository) decodeHistory(ctx context.Context, hash plumbing.Hash) ([]byte, *object.Commit, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	content, err := r.store().object(hash, plumbing.CommitObject, maxStructure)
	if err != nil {
		return nil, nil, err
	}
	c, err := decodeCommit(content)
	return content, c, err
}

func (r *Repository) historyError(ctx context.Context, err error) error {
	return r.readError(ctx, "read the history of", err)
}

func (r *Repository) noHistory() error {
	return &Error{Kind: ErrInvalid, Op: "read the history of", Where: r.Name, Detail: "it needs a commit of this repository"}
}
