package git

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/secret"
)

// MergeBase returns the commit at which the history of a commit left that of another: the first one,
// going back from c breadth first, that the other one descends from, or is.
// Both must have been resolved by this repository. Histories without anything in common are an ErrCommitNotFound.
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

// IsAncestor reports whether a commit is in the history of another one, or is that one.
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

func (r *Repository) ancestors(ctx context.Context, c Commit) (map[plumbing.Hash]bool, error) {
	all := map[plumbing.Hash]bool{}
	err := r.walkBack(ctx, c, func(hash plumbing.Hash) bool {
		all[hash] = true
		return true
	})
	return all, err
}

// walkBack visits a commit and its history breadth first, each commit once, until visit returns false.
// Where the history of a shallow clone is cut off it ends.
func (r *Repository) walkBack(ctx context.Context, from Commit, visit func(plumbing.Hash) bool) error {
	start, ok := parseHash(from.Hash)
	if !ok || r.store() == nil {
		return &Error{Kind: ErrInvalid, Op: "read the history of", Where: r.Name, Detail: "it needs a commit of this repository"}
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
	content, err := r.store().object(hash, plumbing.CommitObject, maxStructure)
	if errors.Is(err, plumbing.ErrObjectNotFound) && r.store().shallow() {
		return nil, nil
	}
	if err != nil {
		return nil, r.readError(ctx, "read the history of", err)
	}
	c, err := decodeCommit(content)
	if err != nil {
		return nil, r.corrupt("read the history of", err)
	}
	return c.ParentHashes, nil
}
