package repository

import (
	"context"
	"errors"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// maxSearched is how many commits of a branch are searched for the one that changed a file.
const maxSearched = 500

// LastChange returns the newest commit that changed a file on a branch, or deleted it. If a merge brought it, it is
// the commit that was merged.
func (r *Reader) LastChange(ctx context.Context, at schedule.Location, file string) (schedule.FileChange, error) {
	repo, err := r.client.Open(ctx, at.Repo)
	if err != nil {
		return schedule.FileChange{}, err
	}
	head, err := ResolveIn(ctx, repo, at.Branch, at.Commit)
	if err != nil {
		return schedule.FileChange{}, err
	}
	line, more, err := repo.History(ctx, head, nil, maxSearched)
	if err != nil {
		return schedule.FileChange{}, err
	}
	content, err := contentOf(ctx, repo, head, file)
	if err != nil {
		return schedule.FileChange{}, err
	}
	for i, c := range line {
		before := ""
		if i+1 < len(line) {
			if before, err = contentOf(ctx, repo, line[i+1], file); err != nil {
				return schedule.FileChange{}, err
			}
		} else if more {
			break
		}
		if before != content {
			return originOf(ctx, repo, c, hashesOf(line), file, content)
		}
	}
	return schedule.FileChange{}, nil
}

// originOf returns the oldest of the merged commits since which the file has a content, or the merge itself. Their
// times prove nothing, so the order is that of the history.
func originOf(ctx context.Context, repo *git.Repository, merge git.Commit, on map[string]bool, file, content string) (schedule.FileChange, error) {
	merged, err := repo.Merged(ctx, merge, func(hash string) bool { return on[hash] }, maxMerged)
	if err != nil {
		return schedule.FileChange{}, err
	}
	found := merge
	for _, c := range merged {
		is, err := contentOf(ctx, repo, c, file)
		if err != nil {
			return schedule.FileChange{}, err
		}
		if is != content {
			break
		}
		found = c
	}
	return schedule.FileChange{Commit: found.Hash, Author: found.Author}, nil
}

// contentOf identifies the content of a file at a commit; empty if there is none.
func contentOf(ctx context.Context, repo *git.Repository, commit git.Commit, file string) (string, error) {
	found, err := repo.Tree(commit).Find(ctx, file)
	if errors.Is(err, git.ErrPathNotFound) {
		return "", nil
	}
	return found.Hash, err
}
