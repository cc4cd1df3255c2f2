package repository

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// Rings derives the commits of rings. Answers never change, so they are cached.
type Rings struct {
	Committer Committer

	mu      sync.Mutex
	derived map[derivation]string
	origins map[origin]string
}

// derivation is a commit of an environment's branch for a ring.
type derivation struct{ repo, path, ring, commit string }

// origin is a commit of a ring's branch.
type origin struct{ repo, commit string }

// maxDerived is the maximum number of cached answers of each kind.
const maxDerived = 10_000

var _ promote.RingBranches = (*Rings)(nil)

// Heads returns the commits of all branches of a repository, by name.
func (r *Rings) Heads(ctx context.Context, repo string) (map[string]string, error) {
	return r.Committer.Heads(ctx, repo)
}

// Derive returns the commit that a ring has for a commit of the environment's branch: the commit itself, unless refs in it
// depend on the ring. Then it is a commit on top of it that differs in these refs alone; its date and author depend only on it, so that
// every server makes the same commit.
func (r *Rings) Derive(ctx context.Context, gitOps hub.Source, ring, commit string) (string, error) {
	key := derivation{gitOps.Repository, gitOps.Path, ring, commit}
	r.mu.Lock()
	known, ok := r.derived[key]
	r.mu.Unlock()
	if ok {
		return known, nil
	}
	made, err := r.derive(ctx, gitOps, ring, commit)
	if err != nil {
		return "", fmt.Errorf("make the commit of ring %q for %s: %w", ring, fleet.ShortCommit(commit), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.derived == nil || len(r.derived) >= maxDerived {
		r.derived = map[derivation]string{}
	}
	r.derived[key] = made
	return made, nil
}

func (r *Rings) derive(ctx context.Context, gitOps hub.Source, ring, commit string) (string, error) {
	repo, err := r.Committer.Client.Open(ctx, gitOps.Repository)
	if err != nil {
		return "", err
	}
	at, err := repo.Resolve(ctx, gitOps.Ref, commit)
	if err != nil {
		return "", err
	}
	tree := repo.Tree(at)
	content, err := readFile(ctx, tree, bundle.RingsPath(gitOps.Path))
	if errors.Is(err, git.ErrPathNotFound) {
		return commit, nil // from before there were rings
	}
	if err != nil {
		return "", err
	}
	refs, err := bundle.RefsOf(content)
	if err != nil {
		return "", fmt.Errorf("%s: %w", bundle.RingsPath(gitOps.Path), err)
	}
	put := map[string][]byte{}
	for _, ref := range refs {
		file := path.Join(gitOps.Path, ref.File)
		before, err := readFile(ctx, tree, file)
		if errors.Is(err, git.ErrPathNotFound) {
			continue // deleted by hand
		}
		if err != nil {
			return "", err
		}
		after, found := ref.In(before, ring)
		if found == 0 {
			return "", fmt.Errorf("%s does not follow branch %q of %s any more: undo the change that was made by hand", file, ref.Branch, ref.Repo)
		}
		put[file] = after
	}
	if len(put) == 0 {
		return commit, nil
	}
	return r.Committer.Commit(ctx, pullrequest.Commit{
		Repo: gitOps.Repository, Branch: gitOps.Ref, Parent: commit, Put: put, When: at.Time,
		Message: fmt.Sprintf("Refs of ring %s\n\nThe same as %s, except that applications with rings follow the branches of theirs.\n", ring, commit),
	})
}

func readFile(ctx context.Context, tree *git.Tree, file string) ([]byte, error) {
	entries, err := tree.Files(ctx, file)
	if err != nil {
		return nil, err
	}
	if len(entries) != 1 || entries[0].Path != file {
		return nil, fmt.Errorf("%s is not a file", file)
	}
	return tree.Read(ctx, entries[0], maxPublishedFile)
}

// Origin returns the parent of a commit of a ring's branch: the commit that it was derived from, if it was derived.
func (r *Rings) Origin(ctx context.Context, repo, branch, commit string) (string, error) {
	key := origin{repo, commit}
	r.mu.Lock()
	known, ok := r.origins[key]
	r.mu.Unlock()
	if ok {
		return known, nil
	}
	opened, err := r.Committer.Client.Open(ctx, repo)
	if err != nil {
		return "", err
	}
	head, err := opened.Resolve(ctx, branch, commit)
	if err != nil {
		return "", err
	}
	history, _, err := opened.History(ctx, head, nil, 2)
	if err != nil {
		return "", err
	}
	parent := ""
	if len(history) > 1 {
		parent = history[1].Hash
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.origins == nil || len(r.origins) >= maxDerived {
		r.origins = map[origin]string{}
	}
	r.origins[key] = parent
	return parent, nil
}
