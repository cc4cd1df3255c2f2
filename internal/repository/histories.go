package repository

import (
	"context"
	"errors"
	"slices"
	"sync"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Lines reads histories for the promotion flow.
type Lines struct{ Client *git.Client }

var _ promote.Lines = Lines{}

// Line returns the commits that a branch pointed to, oldest first.
func (g Lines) Line(ctx context.Context, branch schedule.Location, limit int) ([]promote.Commit, error) {
	repo, err := g.Client.Open(ctx, branch.Repo)
	if err != nil {
		return nil, err
	}
	head, err := repo.Resolve(ctx, branch.Branch, "")
	if err != nil {
		return nil, err
	}
	history, _, err := repo.History(ctx, head, nil, limit)
	if err != nil {
		return nil, err
	}
	onLine := make(map[string]bool, len(history))
	for _, c := range history {
		onLine[c.Hash] = true
	}
	line := make([]promote.Commit, 0, len(history))
	for i, c := range history {
		named := promote.Commit{SHA: c.Hash, Subject: c.Title(), Time: c.Time, Authors: authorsOf(c)}
		if i < recentMerges {
			merged, err := repo.Merged(ctx, c, func(hash string) bool { return onLine[hash] }, maxMerged)
			if err != nil {
				return nil, err
			}
			named.Authors = append(named.Authors, authorsOf(merged...)...)
			slices.Sort(named.Authors)
			named.Authors = slices.Compact(named.Authors)
		}
		line = append(line, named)
	}
	slices.Reverse(line)
	return line, nil
}

const (
	// recentMerges is how many commits of a line have the authors of what they merged, too. Older ones are not approved any more.
	recentMerges = 200
	// maxMerged is how many commits of a merge are read for their authors.
	maxMerged = 200
)

// authorsOf returns the names and mail addresses of the authors of commits.
func authorsOf(commits ...git.Commit) []string {
	var authors []string
	for _, c := range commits {
		authors = append(authors, c.Author, c.Email)
	}
	return slices.DeleteFunc(authors, func(name string) bool { return name == "" })
}

// Ancestry determines which commits of GitOps repositories contain which. Answers never change, so they are cached.
type Ancestry struct {
	Client *git.Client

	mu    sync.Mutex
	known map[ancestors]bool
}

type ancestors struct{ repo, commit, of string }

// maxAncestors is the maximum number of cached answers.
const maxAncestors = 100_000

var _ promote.Ancestry = (*Ancestry)(nil)

// Reaches reports for each hash whether it is in a commit's history. Hashes that the repository lacks are left out.
func (g *Ancestry) Reaches(ctx context.Context, gitOps hub.Source, commit string, hashes []string) (map[string]bool, error) {
	reached, missing := g.recall(gitOps.Repository, commit, hashes)
	if len(missing) == 0 {
		return reached, nil
	}
	repo, err := g.Client.Open(ctx, gitOps.Repository)
	if err != nil {
		return nil, err
	}
	for _, hash := range missing {
		of, err := repo.Resolve(ctx, gitOps.Ref, hash)
		if errors.Is(err, git.ErrCommitNotFound) || errors.Is(err, git.ErrBranchNotFound) {
			continue // replaced by a force push, or not a commit; it may still appear
		}
		if err != nil {
			return nil, err
		}
		is, err := repo.IsAncestor(ctx, commit, of)
		if err != nil {
			return nil, err
		}
		reached[hash] = is
		g.remember(ancestors{gitOps.Repository, commit, hash}, is)
	}
	return reached, nil
}

// recall returns cached answers, and the hashes without one.
func (g *Ancestry) recall(repo, commit string, hashes []string) (reached map[string]bool, missing []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	reached = map[string]bool{}
	for _, hash := range hashes {
		if is, ok := g.known[ancestors{repo, commit, hash}]; ok {
			reached[hash] = is
		} else {
			missing = append(missing, hash)
		}
	}
	return reached, missing
}

func (g *Ancestry) remember(key ancestors, is bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil || len(g.known) >= maxAncestors {
		g.known = map[ancestors]bool{}
	}
	g.known[key] = is
}
