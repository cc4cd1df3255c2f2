package local

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// pullRequest is a pull request in the database, with its running and waiting merges.
type pullRequest struct {
	forge.PullRequest
	// merging is the commit that a merge was about to put on the base branch, mergingBy the account that merged.
	merging, mergingBy string
	// auto is the merge that waits for requirements. Nil if none does.
	auto   *forge.Merge
	autoBy string
}

func scanPullRequest(s scanner) (c pullRequest, err error) {
	var created, ended int64
	var auto string
	err = s.Scan(&c.Number, &c.Title, &c.Body, &c.State, &c.Draft, &c.Author, &created, &c.EndedBy, &ended,
		&c.Head.Branch, &c.Head.Commit, &c.Base.Branch, &c.MergeCommit, &c.merging, &c.mergingBy, &auto, &c.autoBy)
	c.CreatedAt, c.EndedAt, c.Fetch = timeOf(created), timeOf(ended), pullRef(c.Number)
	c.AuthorAccount = strings.ToLower(c.Author) // accounts cannot be renamed
	if err == nil && auto != "" {
		c.auto = &forge.Merge{}
		err = json.Unmarshal([]byte(auto), c.auto)
	}
	return c, err
}

// FindPullRequests returns the pull requests that match a filter.
func (r *Repository) FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	return view(ctx, r, "list pull requests", func(e entry) (found []forge.PullRequest, err error) {
		limit, query := f.Limit, "selectPullRequests"
		if limit <= 0 {
			limit = -1
		}
		args := []any{e.id, string(f.State), f.Base, limit}
		if f.Head != "" {
			query, args = "selectPullRequestsFrom", append(args, f.Head)
		}
		all, err := queryAll(ctx, r.forge.db, scanPullRequest, query, args...)
		if err != nil {
			return nil, err
		}
		found = make([]forge.PullRequest, len(all))
		for i, c := range all {
			found[i] = c.PullRequest
		}
		return found, r.complete(ctx, e, found)
	})
}

// complete adds what is stored elsewhere: labels, addresses, and the commits of base branches.
// The pull requests are sorted by descending number.
func (r *Repository) complete(ctx context.Context, e entry, all []forge.PullRequest) error {
	if len(all) == 0 {
		return nil
	}
	labels, err := r.forge.labelsOf(ctx, e, all[len(all)-1].Number, all[0].Number)
	if err != nil {
		return err
	}
	objects := r.forge.open(e)
	bases := map[string]plumbing.Hash{}
	for i := range all {
		c := &all[i]
		c.URL, c.Labels = r.forge.pullRequestURL(e, c.Number), labels[c.Number]
		if c.State != forge.Open {
			continue
		}
		base, known := bases[c.Base.Branch]
		if !known {
			if base, err = objects.branch(c.Base.Branch); err != nil {
				return err
			}
			bases[c.Base.Branch] = base
		}
		if !base.IsZero() {
			c.Base.Commit = base.String()
		}
	}
	return nil
}

// labelsOf returns the labels of pull requests and issues by number.
func (in *installation) labelsOf(ctx context.Context, e entry, first, last int) (map[int][]string, error) {
	labels := map[int][]string{}
	_, err := queryAll(ctx, in.db, func(s scanner) (label string, err error) {
		var number int
		err = s.Scan(&number, &label)
		labels[number] = append(labels[number], label)
		return label, err
	}, "selectLabeled", e.id, first, last)
	return labels, err
}

// PullRequest returns one pull request, and whether it can be merged.
func (r *Repository) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	return view(ctx, r, "read pull request", func(e entry) (forge.PullRequest, error) {
		c, err := r.pullRequest(ctx, r.forge.db, e, number)
		if err != nil {
			return forge.PullRequest{}, err
		}
		one := []forge.PullRequest{c.PullRequest}
		if err := r.complete(ctx, e, one); err != nil {
			return forge.PullRequest{}, err
		}
		if one[0].State == forge.Open {
			one[0].Mergeable, err = r.forge.mergeable(ctx, e, one[0])
		}
		return one[0], err
	})
}

func (r *Repository) pullRequest(ctx context.Context, q querier, e entry, number int) (pullRequest, error) {
	return scanPullRequest(row(ctx, q, "selectPullRequestNumbered", e.id, number))
}
