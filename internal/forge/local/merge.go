package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// MergePullRequest merges a pull request and returns the new commit of the base branch.
func (r *Repository) MergePullRequest(ctx context.Context, number int, m forge.Merge) (commit string, err error) {
	defer r.explain("merge pull request", &err)
	if m.Head == "" {
		return "", invalid("a merge needs the commit that was checked")
	}
	err = r.write(ctx, Write, func(e entry) error {
		c, err := r.current(ctx, e, number)
		switch {
		case err != nil:
			return err
		case c.State == forge.Merged && c.Head.Commit == m.Head:
			commit = c.MergeCommit
			return nil
		}
		commit, err = r.forge.merge(ctx, e, c, m, r.who())
		return err
	})
	return commit, err
}

// current returns a pull request after updating it from its branches.
func (r *Repository) current(ctx context.Context, e entry, number int) (pullRequest, error) {
	c, err := r.pullRequest(ctx, r.forge.db, e, number)
	if err != nil || c.State != forge.Open {
		return c, err
	}
	if err := r.forge.follow(ctx, e, r.forge.open(e), c, r.who()); err != nil {
		return c, err
	}
	return r.pullRequest(ctx, r.forge.db, e, number)
}

// AutoMerge merges a pull request once its requirements are met; immediately if they already are.
func (r *Repository) AutoMerge(ctx context.Context, number int, m forge.Merge) (err error) {
	defer r.explain("merge pull request automatically", &err)
	return r.write(ctx, Write, func(e entry) error {
		c, err := r.current(ctx, e, number)
		if err != nil {
			return err
		}
		if err := checkHead(c, m); err != nil {
			return err
		}
		missing, err := r.forge.missing(ctx, e, c)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			_, err := r.forge.merge(ctx, e, c, m, r.who())
			return err
		}
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		err = execute(ctx, r.forge.db, "setAuto", string(text), r.who(), e.id, number)
		return err
	})
}

// checkHead returns an error if the head is not the expected one.
func checkHead(c pullRequest, m forge.Merge) error {
	switch {
	case c.State != forge.Open:
		return conflict("the pull request is " + string(c.State))
	case c.Head.Commit != m.Head:
		return conflict("the head is " + c.Head.Commit + ", not " + m.Head)
	case m.Method != "" && m.Method != forge.MergeCommits && m.Method != forge.MergeSquash:
		return invalid("the method is merge or squash")
	}
	return nil
}

// mergeWaiting merges the pull requests that waited for a commit's statuses or approvals.
// A pull request that cannot be merged is skipped: that is not an error for the caller.
func (in *installation) mergeWaiting(ctx context.Context, e entry, commit string) error {
	open, err := queryAll(ctx, in.db, scanPullRequest, "selectOpenPullRequests", e.id)
	if err != nil {
		return err
	}
	for _, c := range open {
		if c.auto == nil || c.Head.Commit != commit {
			continue
		}
		if _, err := in.merge(ctx, e, c, *c.auto, c.autoBy); err != nil && !errors.Is(err, forge.ErrConflict) {
			return err
		}
	}
	return nil
}

// merge merges an open pull request. The caller holds the repository's lock.
//
// The merge is stored before the branch moves, and completed afterwards. If the process dies in between, either the branch
// has not moved and nothing happened, or it has, and the next start marks the pull request as merged.
func (in *installation) merge(ctx context.Context, e entry, c pullRequest, m forge.Merge, actor string) (string, error) {
	if err := checkHead(c, m); err != nil {
		return "", err
	}
	if missing, err := in.missing(ctx, e, c); err != nil || len(missing) > 0 {
		return "", cmp.Or(err, conflict("missing: "+strings.Join(missing, "; ")))
	}
	objects := in.open(e)
	base, err := objects.branch(c.Base.Branch)
	if err != nil || base.IsZero() {
		return "", cmp.Or(err, conflict("branch "+c.Base.Branch+" does not exist any more"))
	}
	commit, err := in.mergeCommit(ctx, objects, c, m, base, actor)
	if err != nil {
		return "", err
	}
	if err := execute(ctx, in.db, "startMerge", commit.String(), actor, e.id, c.Number); err != nil {
		return "", err
	}
	if err := objects.move(branchRef(c.Base.Branch), base, commit); err != nil {
		return "", err
	}
	// The branch has moved, so finish even if the caller has gone.
	ctx = context.WithoutCancel(ctx)
	if err := in.merged(ctx, e, c, commit.String(), actor); err != nil {
		return "", err
	}
	return commit.String(), in.pushed(ctx, e, actor, []moved{{c.Base.Branch, commit.String()}})
}

// mergeCommit stores the commit that merges a pull request.
func (in *installation) mergeCommit(
	ctx context.Context, objects bare, c pullRequest, m forge.Merge, base plumbing.Hash, actor string,
) (plumbing.Hash, error) {
	head := plumbing.NewHash(c.Head.Commit)
	tree, err := objects.mergeTrees(ctx, "", base, head)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	host, _, err := net.SplitHostPort(in.site.Host)
	if err != nil {
		host = in.site.Host
	}
	person := object.Signature{Name: actor, Email: actor + "@" + host, When: in.now()}
	commit := &object.Commit{
		Author: person, Committer: person, Message: mergeMessage(c, m), TreeHash: tree,
		ParentHashes: []plumbing.Hash{base, head},
	}
	if m.Method == forge.MergeSquash {
		commit.ParentHashes = commit.ParentHashes[:1]
	}
	o := objects.NewEncodedObject()
	if err := commit.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return objects.SetEncodedObject(o)
}

// mergeMessage returns the message of a merge: lists of commits show its first line, so it says what changed.
func mergeMessage(c pullRequest, m forge.Merge) string {
	title, text := forge.OneLine(m.Title, 0), strings.TrimSpace(m.Message)
	if title == "" {
		title = fmt.Sprintf("%s (#%d)", c.Title, c.Number)
		if m.Method != forge.MergeSquash {
			text = strings.TrimSpace(text + "\n\nMerged from " + c.Head.Branch)
		}
	}
	return strings.TrimSpace(title+"\n\n"+text) + "\n"
}

// mergeCache caches which commits can be merged: the answer for two commits never open.
type mergeCache struct {
	mu    sync.Mutex
	known map[[2]string]forge.Mergeable
}

// mergeable reports whether the branches of an open pull request can be merged.
func (in *installation) mergeable(ctx context.Context, e entry, c forge.PullRequest) (forge.Mergeable, error) {
	key := [2]string{c.Base.Commit, c.Head.Commit}
	if c.Base.Commit == "" {
		return forge.MergeableNo, nil
	}
	in.merges.mu.Lock()
	known, ok := in.merges.known[key]
	in.merges.mu.Unlock()
	if ok || ctx.Err() != nil {
		return known, ctx.Err()
	}
	// The objects that git stores for this are deleted.
	scratch, err := os.MkdirTemp(in.temporary(), "merge-")
	if err != nil {
		return forge.MergeableUnknown, err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // cleaned up at the next start
	_, err = in.open(e).mergeTrees(ctx, scratch, plumbing.NewHash(c.Base.Commit), plumbing.NewHash(c.Head.Commit))
	answer := forge.MergeableYes
	if errors.Is(err, forge.ErrConflict) {
		answer = forge.MergeableNo
	} else if err != nil {
		return forge.MergeableUnknown, err
	}
	in.merges.mu.Lock()
	defer in.merges.mu.Unlock()
	if in.merges.known == nil || len(in.merges.known) > 10_000 {
		in.merges.known = map[[2]string]forge.Mergeable{}
	}
	in.merges.known[key] = answer
	return answer, nil
}
