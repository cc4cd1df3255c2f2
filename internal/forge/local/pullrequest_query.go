package local

import (
	"context"
	"encoding/json"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

const (
	selectPullRequest = `SELECT number, title, body, state, draft, author, created_at, ended_by, ended_at,
		head, head_commit, base, merge_commit, merging, merging_by, auto_merge, auto_by FROM pull_request`
	selectPullRequestNumbered = selectPullRequest + ` WHERE repository = ? AND number = ?`
	selectOpenPullRequests    = selectPullRequest + ` WHERE repository = ? AND state = 'open' ORDER BY number`
	// A limit of -1 means no limit. SQLite needs a hint to use the index for the pull requests of a head.
	selectPullRequests     = selectPullRequest + ` WHERE repository = ?1 AND (?2 = '' OR state = ?2) AND (?3 = '' OR base = ?3) ORDER BY number DESC LIMIT ?4`
	selectPullRequestsFrom = selectPullRequest + ` INDEXED BY pull_request_head WHERE repository = ?1 AND (?2 = '' OR state = ?2) AND (?3 = '' OR base = ?3)
		AND head = ?5 ORDER BY number DESC LIMIT ?4`
	// The labels of a range of numbers are read at once.
	selectLabeled = `SELECT number, labeled.label FROM labeled WHERE repository = ? AND number BETWEEN ? AND ? ORDER BY number, label`
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
	if err == nil && auto != "" {
		c.auto = &forge.Merge{}
		err = json.Unmarshal([]byte(auto), c.auto)
	}
	return c, err
}

// FindPullRequests returns the pull requests that match a filter.
func (r *Repository) FindPullRequests(ctx context.Context, f forge.PullRequestFilter) (found []forge.PullRequest, err error) {
	defer r.explain("list pull requests", &err)
	e, err := r.enter(ctx, Read)
	if err != nil {
		return nil, err
	}
	limit, query := f.Limit, selectPullRequests
	if limit <= 0 {
		limit = -1
	}
	args := []any{e.id, string(f.State), f.Base, limit}
	if f.Head != "" {
		query, args = selectPullRequestsFrom, append(args, f.Head)
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
}

// complete adds what is stored elsewhere: labels, addresses, and the commits of base branches.
// The pull requests are sorted by descending number.
func (r *Repository) complete(ctx context.Context, e entry, changes []forge.PullRequest) error {
	if len(changes) == 0 {
		return nil
	}
	labels, err := r.forge.labelsOf(ctx, e, changes[len(changes)-1].Number, changes[0].Number)
	if err != nil {
		return err
	}
	objects := r.forge.open(e)
	bases := map[string]plumbing.Hash{}
	for i := range changes {
		c := &changes[i]
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
	rows, err := in.db.QueryContext(ctx, selectLabeled, e.id, first, last)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	labels := map[int][]string{}
	for rows.Next() {
		var number int
		var label string
		if err := rows.Scan(&number, &label); err != nil {
			return nil, err
		}
		labels[number] = append(labels[number], label)
	}
	return labels, rows.Err()
}

// PullRequest returns one pull request, and whether it can be merged.
func (r *Repository) PullRequest(ctx context.Context, number int) (_ forge.PullRequest, err error) {
	defer r.explain("read pull request", &err)
	e, err := r.enter(ctx, Read)
	if err != nil {
		return forge.PullRequest{}, err
	}
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
}

func (r *Repository) pullRequest(ctx context.Context, q querier, e entry, number int) (pullRequest, error) {
	return scanPullRequest(q.QueryRowContext(ctx, selectPullRequestNumbered, e.id, number))
}
