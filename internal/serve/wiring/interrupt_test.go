package wiring

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

// interruption calls a function after each write to Git and to the local forge. If it returns an error, the caller gets that
// although the write was done, as if its process had been killed there.
type interruption func(write string) error

func (i interruption) after(write string, err error) error {
	if err != nil {
		return err
	}
	return i(write)
}

// interruptedCommitter is a committer whose writes are interrupted.
type interruptedCommitter struct {
	pullrequest.Committer
	interruption
}

func (c interruptedCommitter) Commit(ctx context.Context, commit pullrequest.Commit) (string, error) {
	id, err := c.Committer.Commit(ctx, commit)
	return id, c.after("committed", err)
}

func (c interruptedCommitter) Push(ctx context.Context, repo, branch, old, commit string) error {
	return c.after("pushed", c.Committer.Push(ctx, repo, branch, old, commit))
}

// interruptedForges find forges whose writes are interrupted.
type interruptedForges struct {
	pullrequest.Forges
	interruption
}

func (f interruptedForges) Forge(url string) (forge.Forge, error) {
	host, err := f.Forges.Forge(url)
	return interruptedForge{host, f.interruption}, err
}

type interruptedForge struct {
	forge.Forge
	interruption
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
	interruption
}

func (r interruptedRepository) OpenPullRequest(ctx context.Context, p forge.NewPullRequest) (forge.PullRequest, error) {
	opened, err := r.Repository.OpenPullRequest(ctx, p)
	return opened, r.after("opened", err)
}

func (r interruptedRepository) EditPullRequest(ctx context.Context, number int, e forge.PullRequestEdit) error {
	return r.after("edited", r.Repository.EditPullRequest(ctx, number, e))
}

func (r interruptedRepository) MergePullRequest(ctx context.Context, number int, m forge.Merge) (string, error) {
	commit, err := r.Repository.MergePullRequest(ctx, number, m)
	return commit, r.after("merged", err)
}

func (r interruptedRepository) AutoMerge(ctx context.Context, number int, m forge.Merge) error {
	return r.after("asked to merge", r.Repository.AutoMerge(ctx, number, m))
}

func (r interruptedRepository) EnsureLabel(ctx context.Context, l forge.Label) error {
	return r.after("label created", r.Repository.EnsureLabel(ctx, l))
}

func (r interruptedRepository) AddLabels(ctx context.Context, number int, names ...string) error {
	return r.after("labelled", r.Repository.AddLabels(ctx, number, names...))
}

func (r interruptedRepository) RemoveLabel(ctx context.Context, number int, name string) error {
	return r.after("label removed", r.Repository.RemoveLabel(ctx, number, name))
}

func (r interruptedRepository) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	return r.after("status set", r.Repository.SetStatus(ctx, commit, s))
}

func (r interruptedRepository) Annotate(ctx context.Context, number int, a forge.Annotations) error {
	return r.after("annotated", r.Repository.Annotate(ctx, number, a))
}

func (r interruptedRepository) UpsertComment(ctx context.Context, number int, marker, body string) (forge.Comment, error) {
	comment, err := r.Repository.UpsertComment(ctx, number, marker, body)
	return comment, r.after("commented", err)
}

func (r interruptedRepository) DeleteBranch(ctx context.Context, name string) error {
	return r.after("branch deleted", r.Repository.DeleteBranch(ctx, name))
}

func (r interruptedRepository) OpenIssue(ctx context.Context, i forge.NewIssue) (forge.Issue, error) {
	issue, err := r.Repository.OpenIssue(ctx, i)
	return issue, r.after("issue opened", err)
}

func (r interruptedRepository) EditIssue(ctx context.Context, number int, e forge.IssueEdit) error {
	return r.after("issue edited", r.Repository.EditIssue(ctx, number, e))
}
