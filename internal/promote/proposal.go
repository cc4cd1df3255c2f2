package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// The inputs in the mark of a proposal: the current and the proposed commit.
const (
	inputFrom   = "from"
	inputCommit = "commit"
)

// proposedMove returns the commits that a pull request moves an environment between.
// Both are empty for a withdrawn proposal.
func proposedMove(c forge.PullRequest) (from, commit string) {
	mark := pullrequest.MarkOf(c.Body)
	if mark.Digest == "" {
		return "", ""
	}
	return mark.Inputs[inputFrom], mark.Inputs[inputCommit]
}

// changes returns the open pull request of an environment, and those that were closed since the last merge.
func (p *Platform) changes(ctx context.Context, repo forge.Repository, t *environmentBranch) (open *forge.PullRequest, closed []forge.PullRequest, err error) {
	all, err := repo.FindPullRequests(ctx, forge.PullRequestFilter{Head: ProposalBranch(t.name), Base: t.at.Branch, Limit: 20})
	if err != nil {
		return nil, nil, fmt.Errorf("find the proposals: %w", err)
	}
	for i := range all {
		switch c := &all[i]; c.State {
		case forge.Open:
			if open == nil {
				open = c
			}
		case forge.Closed:
			closed = append(closed, *c)
		case forge.Merged: // earlier pull requests do not count any more
			return open, closed, nil
		}
	}
	return open, closed, nil
}

// proposals returns the open and closed proposals.
func (p *Platform) proposals(ctx context.Context, t *environmentBranch) ([]Proposal, error) {
	_, repo, err := p.locate(t.at.Repo)
	if repo == nil || err != nil {
		return nil, err
	}
	open, closed, err := p.changes(ctx, repo, t)
	if err != nil {
		return nil, err
	}
	var all []Proposal
	if open != nil {
		from, commit := proposedMove(*open)
		if pullrequest.MarkOf(open.Body).Commit != open.Head.Commit {
			from = "" // incomplete, or changed by a user: it is updated or closed
		}
		all = append(all, Proposal{Proposal: decide.Proposal{From: from, Commit: commit, State: decide.ProposalOpen, URL: open.URL}})
	}
	for _, c := range closed {
		if from, commit := proposedMove(c); commit != "" {
			all = append(all, Proposal{decide.Proposal{From: from, Commit: commit, State: decide.ProposalClosed, URL: c.URL}, c.EndedAt})
		}
	}
	return all, nil
}

// pullRequest returns the environment's only pull request.
func (p *Platform) pullRequest(host forge.Forge, repo forge.Repository, t *environmentBranch) *pullrequest.PullRequest {
	return &pullrequest.PullRequest{
		Repository: repo, Limits: host.Limits(), Committer: p.Committer, URL: t.at.Repo,
		Base: t.at.Branch, Commit: t.source.Commit, Time: t.source.Time,
		Head: ProposalBranch(t.name), Name: t.name,
		Fork: func(ctx context.Context, ref, commit string) (string, error) {
			return p.Loader.Repositories.Fork(ctx, t.at, ref, commit)
		},
	}
}

// propose updates the environment's pull request to propose a move.
func (p *Platform) propose(ctx context.Context, host forge.Forge, repo forge.Repository, t *environmentBranch, m Move, commit pullrequest.Commit) (MoveResult, error) {
	_, closed, err := p.changes(ctx, repo, t)
	if err != nil {
		return MoveResult{}, err
	}
	// The decision to propose a closed move again was made earlier; it needs a new mark.
	times := 0
	for _, c := range closed {
		if from, to := proposedMove(c); from == m.From && to == m.Commit {
			times++
		}
	}
	l := p.pullRequest(host, repo, t)
	if err := l.Find(ctx); err != nil {
		return MoveResult{}, err
	}
	err = l.Propose(ctx, pullrequest.Proposal{
		Put: commit.Put, Message: commit.Message, When: commit.When, Title: m.title(),
		Body:   func(room int) string { return forge.Cut(p.body(m), room) },
		Digest: fmt.Sprintf("%s %s %d", m.From, m.Commit, times),
		Inputs: map[string]string{inputFrom: m.From, inputCommit: m.Commit},
	})
	if errors.Is(err, forge.ErrConflict) && !errors.Is(err, pullrequest.ErrMoved) {
		err = errors.Join(pullrequest.ErrMoved, err) // another server was faster
	}
	if err != nil || len(l.Did) == 0 || l.Open == nil {
		return MoveResult{}, err
	}
	return MoveResult{Did: m.title() + ": " + strings.Join(l.Did, ", "), URL: l.Open.URL}, nil
}

// maxListed is how many commits a proposal lists.
const maxListed = 50

// body explains what merging does, and lists the promoted commits.
func (p *Platform) body(m Move) string {
	var b strings.Builder
	switch {
	case m.From == m.Commit:
		fmt.Fprintf(&b, "Environment `%s` follows the head of `main`. Merging this keeps it at the commit that it has, "+
			"so that further ones come in by promotion only.\n", m.Environment)
	case m.Back:
		fmt.Fprintf(&b, "Merging this takes environment `%s` back from `%s` to `%s`, which ran there without failure.\n", m.Environment, fleet.ShortCommit(m.From), fleet.ShortCommit(m.Commit))
	default:
		fmt.Fprintf(&b, "Merging this promotes `%s` to environment `%s`, which has `%s`.\n", fleet.ShortCommit(m.Commit), m.Environment, fleet.ShortCommit(m.From))
	}
	if m.Reason != "" {
		fmt.Fprintf(&b, "\nWhy: %s\n", code(m.Reason))
	}
	p.list(&b, m)
	b.WriteString("\nClosed, it stays closed until another commit is to be promoted; `kalypso promote` asks again.\n")
	return b.String()
}

// list writes the commits that are added or removed, newest first.
func (p *Platform) list(b *strings.Builder, m Move) {
	from := slices.IndexFunc(p.line, func(c Commit) bool { return c.SHA == m.From })
	to := slices.IndexFunc(p.line, func(c Commit) bool { return c.SHA == m.Commit })
	if from < 0 || to < 0 || from == to {
		return
	}
	word := "comes with it"
	if from > to {
		from, to, word = to, from, "goes with it"
	}
	fmt.Fprintf(b, "\nWhat %s:\n\n", word)
	commits := slices.Clone(p.line[from+1 : to+1])
	slices.Reverse(commits)
	for i, c := range commits {
		if i == maxListed {
			fmt.Fprintf(b, "- and %d more\n", len(commits)-i)
			break
		}
		fmt.Fprintf(b, "- `%s` %s\n", fleet.ShortCommit(c.SHA), code(c.Subject))
	}
}

// code formats untrusted text as code, without credentials.
func code(text string) string { return markdown.Code(secret.Line(secret.Redact(text))) }

// Withdraw closes an open proposal.
func (p *Platform) Withdraw(ctx context.Context, w decide.Withdraw) error {
	d, err := p.described(ctx, w.Environment)
	if err != nil {
		return err
	}
	t, err := p.environmentBranch(ctx, d, "")
	if err != nil {
		return err
	}
	host, repo, err := p.locate(d.At.Repo)
	if repo == nil || err != nil {
		return err
	}
	l := p.pullRequest(host, repo, t)
	if err := l.Find(ctx); err != nil {
		return err
	}
	if l.Open == nil {
		return nil
	}
	if _, commit := proposedMove(*l.Open); commit != w.Commit {
		return nil // it was changed to propose another commit
	}
	return l.Withdraw(ctx, "No decision is needed any more: "+markdown.Escape(w.Reason)+".")
}
