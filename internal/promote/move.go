package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Move updates the BaseRepo of an environment, or opens a proposal. It reads the current state first, and changes nothing if
// another server was faster.
func (p *Platform) Move(ctx context.Context, m Move) (MoveResult, error) {
	if _, ring := decide.SplitRing(m.Environment); ring != "" {
		return p.moveRing(ctx, m)
	}
	d, err := p.described(ctx, m.Environment)
	if err != nil {
		return MoveResult{}, err
	}
	head, err := p.Committer.Head(ctx, d.At.Repo, d.At.Branch)
	if err != nil {
		return MoveResult{}, fmt.Errorf("read branch %q: %w", d.At.Branch, err)
	}
	t, err := p.environmentBranch(ctx, d, head)
	if err != nil {
		return MoveResult{}, err
	}
	if is := t.base.Spec.Commit; is == m.Commit || is != "" && is != m.From {
		return MoveResult{}, nil
	}
	host, repo, err := p.locate(d.At.Repo)
	if err != nil {
		return MoveResult{}, err
	}
	commit, err := p.commit(t, m)
	if err != nil {
		return MoveResult{}, err
	}
	if !p.needsProposal(ctx, repo, t, m) {
		err := p.push(ctx, commit)
		if err == nil {
			return MoveResult{Did: m.title()}, nil
		}
		if !errors.Is(err, ErrProtected) {
			return MoveResult{}, err
		}
	}
	if repo == nil {
		return MoveResult{}, fmt.Errorf("%s: people have to agree, and no forge that is configured hosts %s", m.title(), secret.Redact(t.at.Repo))
	}
	return p.propose(ctx, host, repo, t, m, commit)
}

// needsProposal reports whether the move needs a pull request. If the branch protection cannot be read, the push will fail instead.
func (p *Platform) needsProposal(ctx context.Context, repo forge.Repository, t *environmentBranch, m Move) bool {
	if m.Approval == v1alpha1.ApprovalPullRequest {
		return true
	}
	protector, ok := repo.(forge.Protector)
	if !ok {
		return false
	}
	demands, err := protector.Protection(ctx, t.at.Branch)
	return err == nil && demands.Protected()
}

// commit returns the commit that updates the BaseRepo. Its date depends only on its content, so that every server creates
// the same commit.
func (p *Platform) commit(t *environmentBranch, m Move) (pullrequest.Commit, error) {
	path, text, err := t.named(m.Commit)
	if err != nil {
		return pullrequest.Commit{}, err
	}
	return pullrequest.Commit{
		Repo: t.at.Repo, Branch: t.at.Branch, Parent: t.source.Commit,
		Put: map[string][]byte{path: text}, Message: p.message(m), When: later(t.source.Time, p.find(m.Commit).Time),
	}, nil
}

// push creates the commit and pushes it to the environment's branch.
func (p *Platform) push(ctx context.Context, c pullrequest.Commit) error {
	id, err := p.Committer.Commit(ctx, c)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := p.Committer.Push(ctx, c.Repo, c.Branch, c.Parent, id); err != nil {
		return fmt.Errorf("push branch %q: %w", c.Branch, err)
	}
	return nil
}

// find returns a commit of the line, or a zero Commit.
func (p *Platform) find(sha string) Commit {
	if i := slices.IndexFunc(p.line, func(c Commit) bool { return c.SHA == sha }); i >= 0 {
		return p.line[i]
	}
	return Commit{}
}

func (p *Platform) message(m Move) string {
	var b strings.Builder
	b.WriteString(m.title() + "\n")
	if subject := p.find(m.Commit).Subject; subject != "" {
		fmt.Fprintf(&b, "\n%s\n", markdown.Plain(subject))
	}
	if m.Reason != "" {
		fmt.Fprintf(&b, "\n%s\n", markdown.Plain(m.Reason))
	}
	fmt.Fprintf(&b, "\nKalypso-Promoted: %s\n", m.Commit)
	return b.String()
}

// title returns a one-line summary of the move.
func (m Move) title() string {
	switch {
	case m.From == m.Commit:
		return fmt.Sprintf("Keep %s at %s", m.Environment, fleet.ShortCommit(m.Commit))
	case m.Back:
		return fmt.Sprintf("Take %s back to %s", m.Environment, fleet.ShortCommit(m.Commit))
	default:
		return fmt.Sprintf("Promote %s to %s", fleet.ShortCommit(m.Commit), m.Environment)
	}
}
