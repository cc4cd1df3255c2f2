package local

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local/receivepack"
)

// CreateBranch creates a branch at a commit.
func (r *Repository) CreateBranch(ctx context.Context, name, commit string) (err error) {
	defer r.explain("create branch", &err)
	return r.write(ctx, Write, func(e entry) error {
		objects := r.forge.open(e)
		hash := plumbing.NewHash(commit)
		if !receivepack.ValidRef(branchRef(name)) {
			return invalid(fmt.Sprintf("no branch can be named %q", name))
		}
		if !plumbing.IsHash(commit) || !objects.has(hash) {
			return notFound("commit " + commit + " does not exist")
		}
		all, err := objects.branches()
		if err != nil {
			return err
		}
		if now, exists := all[name]; exists && now == hash {
			return nil
		} else if exists {
			return conflict("the branch is at " + now.String())
		}
		for other := range all {
			if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
				return conflict(fmt.Sprintf("there is a branch %q, and Git cannot have both", other))
			}
		}
		if err := objects.move(branchRef(name), plumbing.ZeroHash, hash); err != nil {
			return err
		}
		return r.forge.pushed(ctx, e, r.who(), []moved{{branch: name, to: commit}})
	})
}

// DeleteBranch deletes a branch that is neither protected nor the default one.
func (r *Repository) DeleteBranch(ctx context.Context, name string) (err error) {
	defer r.explain("delete branch", &err)
	return r.write(ctx, Write, func(e entry) error {
		objects := r.forge.open(e)
		now, err := objects.branch(name)
		if err != nil || now.IsZero() {
			return err
		}
		if name == objects.defaultBranch() {
			return conflict("it is the default branch")
		}
		if p, err := r.forge.protection(ctx, e, name); err != nil || p.Protected() {
			return cmp.Or(err, conflict("the branch is protected"))
		}
		if err := objects.remove(branchRef(name), now); err != nil {
			return err
		}
		return r.forge.pushed(ctx, e, r.who(), []moved{{branch: name}})
	})
}

// moved is a branch that now points to a commit, or was deleted.
type moved struct{ branch, to string }

// pushed updates the forge after branches moved: it publishes events, updates pull requests, and runs waiting merges.
// The caller holds the repository's lock.
func (in *installation) pushed(ctx context.Context, e entry, actor string, all []moved) error {
	branches := map[string]bool{}
	for _, m := range all {
		branches[m.branch] = true
		if err := in.tell(ctx, e, forge.Event{Kind: forge.EventPush, Branch: m.branch, Commit: m.to, Sender: actor}); err != nil {
			return err
		}
	}
	return in.sync(ctx, e, actor, branches)
}

// Protection returns a branch's requirements.
func (r *Repository) Protection(ctx context.Context, branch string) (forge.Protection, error) {
	return view(ctx, r, "read branch protection", func(e entry) (forge.Protection, error) {
		return r.forge.protection(ctx, e, branch)
	})
}

func (in *installation) protection(ctx context.Context, e entry, branch string) (p forge.Protection, err error) {
	var checks string
	err = row(ctx, in.db, "selectProtection", e.id, branch).Scan(&p.PullRequestsOnly, &p.Approvals, &p.CodeOwners, &checks)
	if errors.Is(err, sql.ErrNoRows) {
		return forge.Protection{}, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(checks), &p.Checks)
	}
	return p, err
}

// Protect replaces a branch's requirements.
func (r *Repository) Protect(ctx context.Context, branch string, p forge.Protection) (err error) {
	defer r.explain("protect branch", &err)
	if !receivepack.ValidRef(branchRef(branch)) || p.Approvals < 0 {
		return invalid("the branch has no possible name, or the approvals are negative")
	}
	return r.write(ctx, Admin, func(e entry) error {
		if !p.Protected() {
			return execute(ctx, r.forge.db, "deleteProtection", e.id, branch)
		}
		checks, err := json.Marshal(slices.Compact(slices.Sorted(slices.Values(p.Checks))))
		if err != nil {
			return err
		}
		err = execute(ctx, r.forge.db, "replaceProtection", e.id, branch, p.PullRequestsOnly, p.Approvals, p.CodeOwners, string(checks))
		return err
	})
}
