package wiring

import (
	"context"
	"strings"
	"sync"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

// interruption kills a process at a write to Git, the local forge or the ledger. When after returns an error, the write is done,
// its caller gets the error, and every later write fails without being done.
type interruption struct {
	after func(write string) error // optional

	mu     sync.Mutex
	killed error
}

func (i *interruption) write(name string, do func() error) error {
	i.mu.Lock()
	killed := i.killed
	i.mu.Unlock()
	if killed != nil {
		return killed
	}
	if err := do(); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.killed == nil && i.after != nil {
		i.killed = i.after(name)
	}
	return i.killed
}

// interruptedLedger is a ledger in which steps are interrupted.
type interruptedLedger struct {
	promote.Ledger
	*interruption
}

func (l interruptedLedger) RecordStep(ctx context.Context, s ledger.Step) error {
	return l.write("recorded "+s.Kind, func() error { return l.Ledger.RecordStep(ctx, s) })
}

// interruptedCommitter is a committer whose writes are interrupted.
type interruptedCommitter struct {
	pullrequest.Committer
	*interruption
}

func (c interruptedCommitter) Commit(ctx context.Context, commit pullrequest.Commit) (id string, err error) {
	err = c.write("committed", func() (err error) {
		id, err = c.Committer.Commit(ctx, commit)
		return err
	})
	return id, err
}

func (c interruptedCommitter) Push(ctx context.Context, repo, branch, old, commit string) error {
	name := "pushed"
	if strings.Contains(branch, "-ring-") {
		name += " " + branch
	}
	return c.write(name, func() error { return c.Committer.Push(ctx, repo, branch, old, commit) })
}

// interruptedForges find forges whose writes are interrupted.
type interruptedForges struct {
	pullrequest.Forges
	*interruption
}

func (f interruptedForges) Forge(url string) (forge.Forge, error) {
	host, err := f.Forges.Forge(url)
	return interruptedForge{host, f.interruption}, err
}

type interruptedForge struct {
	forge.Forge
	*interruption
}

func (f interruptedForge) Repository(url string) (forge.Repository, error) {
	repo, err := f.Forge.Repository(url)
	if err != nil {
		return nil, err
	}
	return interruptedRepository{repo.(*local.Repository), f.interruption}, nil
}

// interruptedRepository keeps the optional abilities of the local forge.
type interruptedRepository struct {
	*local.Repository
	*interruption
}

func (r interruptedRepository) OpenPullRequest(ctx context.Context, p forge.NewPullRequest) (opened forge.PullRequest, err error) {
	err = r.write("opened", func() (err error) {
		opened, err = r.Repository.OpenPullRequest(ctx, p)
		return err
	})
	return opened, err
}

func (r interruptedRepository) EditPullRequest(ctx context.Context, number int, e forge.PullRequestEdit) error {
	return r.write("edited", func() error { return r.Repository.EditPullRequest(ctx, number, e) })
}

func (r interruptedRepository) MergePullRequest(ctx context.Context, number int, m forge.Merge) (commit string, err error) {
	err = r.write("merged", func() (err error) {
		commit, err = r.Repository.MergePullRequest(ctx, number, m)
		return err
	})
	return commit, err
}

func (r interruptedRepository) AutoMerge(ctx context.Context, number int, m forge.Merge) error {
	return r.write("asked to merge", func() error { return r.Repository.AutoMerge(ctx, number, m) })
}

func (r interruptedRepository) EnsureLabel(ctx context.Context, l forge.Label) error {
	return r.write("label created", func() error { return r.Repository.EnsureLabel(ctx, l) })
}

func (r interruptedRepository) AddLabels(ctx context.Context, number int, names ...string) error {
	return r.write("labelled", func() error { return r.Repository.AddLabels(ctx, number, names...) })
}

func (r interruptedRepository) RemoveLabel(ctx context.Context, number int, name string) error {
	return r.write("label removed", func() error { return r.Repository.RemoveLabel(ctx, number, name) })
}

func (r interruptedRepository) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	return r.write("status set", func() error { return r.Repository.SetStatus(ctx, commit, s) })
}

func (r interruptedRepository) Annotate(ctx context.Context, number int, a forge.Annotations) error {
	return r.write("annotated", func() error { return r.Repository.Annotate(ctx, number, a) })
}

func (r interruptedRepository) UpsertComment(ctx context.Context, number int, marker, body string) (comment forge.Comment, err error) {
	err = r.write("commented", func() (err error) {
		comment, err = r.Repository.UpsertComment(ctx, number, marker, body)
		return err
	})
	return comment, err
}

func (r interruptedRepository) DeleteBranch(ctx context.Context, name string) error {
	return r.write("branch deleted", func() error { return r.Repository.DeleteBranch(ctx, name) })
}

func (r interruptedRepository) OpenIssue(ctx context.Context, i forge.NewIssue) (issue forge.Issue, err error) {
	err = r.write("issue opened", func() (err error) {
		issue, err = r.Repository.OpenIssue(ctx, i)
		return err
	})
	return issue, err
}

func (r interruptedRepository) EditIssue(ctx context.Context, number int, e forge.IssueEdit) error {
	return r.write("issue edited", func() error { return r.Repository.EditIssue(ctx, number, e) })
}
