package local

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Approve approves a pull request at head. Authors cannot approve their own pull requests.
func (r *Repository) Approve(ctx context.Context, number int, head string) (err error) {
	defer r.explain("approve pull request", &err)
	return r.write(ctx, Write, func(e entry) error {
		c, err := r.current(ctx, e, number)
		if err != nil {
			return err
		}
		if err := checkHead(c, forge.Merge{Head: head}); err != nil {
			return err
		}
		if strings.EqualFold(c.Author, r.who()) {
			return invalid("authors cannot approve their own pull request")
		}
		if err := execute(ctx, r.forge.db, "upsertApproval", e.id, number, r.who(), head, microseconds(r.forge.now())); err != nil {
			return err
		}
		if err := r.publishPullRequest(ctx, e, number); err != nil {
			return err
		}
		return r.forge.mergeWaiting(ctx, e, head)
	})
}

// Reviews returns the approvals of a pull request, of any of its heads. Accounts cannot be renamed.
func (r *Repository) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	return view(ctx, r, "read reviews", func(e entry) ([]forge.Review, error) {
		if _, err := r.pullRequest(ctx, r.forge.db, e, number); err != nil {
			return nil, err
		}
		all, err := queryAll(ctx, r.forge.db, func(s scanner) (v forge.Review, err error) {
			var at int64
			err = s.Scan(&v.Login, &v.Commit, &at)
			v.Account, v.Decision, v.At, v.URL = strings.ToLower(v.Login), forge.Approved, timeOf(at), r.forge.pullRequestURL(e, number)
			return v, err
		}, "selectReviews", e.id, number, forge.MaxReviews+1)
		if err == nil {
			err = forge.TooManyReviews(len(all), r.id.String())
		}
		if err != nil {
			return nil, err
		}
		return forge.LastReviews(all), nil
	})
}

// approvals returns the accounts that approved the current head, sorted.
func (in *installation) approvals(ctx context.Context, e entry, c pullRequest) ([]string, error) {
	return queryAll(ctx, in.db, scanText, "selectApprovals", e.id, c.Number, c.Head.Commit)
}

// missing describes the base branch's requirements that an open pull request does not meet.
func (in *installation) missing(ctx context.Context, e entry, c pullRequest) ([]string, error) {
	var missing []string
	if c.Draft {
		missing = append(missing, "it is a draft")
	}
	p, err := in.protection(ctx, e, c.Base.Branch)
	if err != nil {
		return nil, err
	}
	statuses, err := in.statuses(ctx, e, c.Head.Commit)
	if err != nil {
		return nil, err
	}
	missing = append(missing, unsuccessful(statuses, p.Checks)...)
	approvals, err := in.approvals(ctx, e, c)
	if err != nil {
		return nil, err
	}
	if len(approvals) < p.Approvals {
		missing = append(missing, fmt.Sprintf("approvals: %d of %d", len(approvals), p.Approvals))
	}
	if p.CodeOwners {
		unowned, err := in.unapproved(ctx, e, c, approvals)
		if err != nil {
			return nil, err
		}
		missing = append(missing, unowned...)
	}
	return missing, nil
}

// unsuccessful describes the statuses that have not succeeded, of those that the branch requires or that are required themselves.
func unsuccessful(statuses []forge.Status, checks []string) []string {
	var missing []string
	for _, check := range checks {
		if !slices.ContainsFunc(statuses, func(s forge.Status) bool { return s.Context == check }) {
			missing = append(missing, "check "+check)
		}
	}
	for _, s := range statuses {
		if s.State == forge.Success || !s.Required && !slices.Contains(checks, s.Context) {
			continue
		}
		reason := "check " + s.Context + " is " + map[forge.StatusState]string{
			forge.Pending: "pending", forge.Failure: "failing", forge.Errored: "in error",
		}[s.State]
		if s.Description != "" {
			reason += ": " + s.Description
		}
		missing = append(missing, reason)
	}
	return missing
}

// unapproved describes whose approval is missing for which files.
func (in *installation) unapproved(ctx context.Context, e entry, c pullRequest, approvals []string) ([]string, error) {
	objects := in.open(e)
	base, err := objects.branch(c.Base.Branch)
	if err != nil || base.IsZero() {
		return nil, err
	}
	owners, err := codeOwners(objects, base)
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	files, err := changedFiles(ctx, objects, base, plumbing.NewHash(c.Head.Commit))
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, file := range files {
		of := owners.of(file)
		if len(of) > 0 && !slices.ContainsFunc(of, func(o string) bool { return containsFold(approvals, o) }) {
			needed["approval of "+strings.Join(of, " or ")] = true
		}
	}
	return slices.Sorted(maps.Keys(needed)), nil
}

func containsFold(all []string, one string) bool {
	return slices.ContainsFunc(all, func(s string) bool { return strings.EqualFold(s, one) })
}

// changedFiles returns the paths that changed from the merge base to the head, including old names of moved files.
func changedFiles(ctx context.Context, objects bare, base, head plumbing.Hash) ([]string, error) {
	changes, err := changesSince(ctx, objects, base, head)
	if err != nil {
		return nil, err
	}
	files := map[string]bool{}
	for _, c := range changes {
		files[c.From.Name], files[c.To.Name] = true, true
	}
	delete(files, "")
	return slices.Sorted(maps.Keys(files)), nil
}

// changesSince returns the changes from the merge base to the head.
func changesSince(ctx context.Context, objects bare, base, head plumbing.Hash) (object.Changes, error) {
	common, err := objects.mergeBase(ctx, base, head)
	if err != nil {
		return nil, err
	}
	return changesBetween(objects, common, head)
}

// changesBetween returns the differences between two commits. A renamed file counts as removed and added.
func changesBetween(objects bare, old, new plumbing.Hash) (object.Changes, error) {
	from, err := treeOf(objects, old)
	if err != nil {
		return nil, err
	}
	to, err := treeOf(objects, new)
	if err != nil {
		return nil, err
	}
	return object.DiffTree(from, to)
}

// treeOf returns the tree of a commit. It returns an empty tree for the zero hash.
func treeOf(objects bare, hash plumbing.Hash) (*object.Tree, error) {
	if hash.IsZero() {
		return &object.Tree{}, nil
	}
	commit, err := object.GetCommit(objects, hash)
	if err != nil {
		return nil, err
	}
	return commit.Tree()
}
