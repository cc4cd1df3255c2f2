package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// merge merges the pull request if the proposal asks for it and nothing prevents it.
func (p *PullRequest) merge(ctx context.Context, proposal *Proposal, mark *Mark) error {
	if !proposal.AutoMerge {
		return nil
	}
	if s := unfinished(proposal.Statuses); s != nil {
		p.Waits = s.Description
		return nil
	}
	if mark.Merging == mark.Commit {
		p.Waits = waitsForForge
		return nil
	}
	merger, awaited, err := p.autoMerger(ctx, proposal.RequiredChecks)
	if err != nil {
		return err
	}
	checks, err := readChecks(ctx, p.Repository, mark.Commit)
	if err != nil || p.waitsFor(checks, awaited, proposal) {
		return err
	}
	if merger != nil {
		err := p.autoMerge(ctx, merger, proposal, mark)
		if !errors.Is(err, forge.ErrUnsupported) || p.waitsFor(checks, nil, proposal) {
			return forge.Ignore(err, forge.ErrUnsupported)
		}
	}
	_, err = p.Repository.MergePullRequest(ctx, p.Open.Number, forge.Merge{Head: mark.Commit, Title: proposal.Title})
	if errors.Is(err, forge.ErrConflict) {
		p.Waits = notYet(err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("merge pull request %d: %w", p.Open.Number, err)
	}
	p.Open.State = forge.Merged
	p.did("merged pull request %d", p.Open.Number)
	return nil
}

// waitsFor reports whether a check has not succeeded, or may still appear. The forge itself waits for those that are awaited.
func (p *PullRequest) waitsFor(checks []forge.Status, awaited []string, proposal *Proposal) bool {
	others, listed, since := len(awaited) > len(proposal.RequiredChecks), 0, p.Open.CreatedAt
	var ours []string
	for _, s := range proposal.Statuses {
		ours = append(ours, s.Context)
	}
	checks = slices.DeleteFunc(slices.Clone(checks), func(s forge.Status) bool {
		if !slices.Contains(ours, s.Context) {
			others = true
		} else if listed++; s.Time.After(since) {
			since = s.Time
		}
		return slices.Contains(awaited, s.Context)
	})
	if s := unfinished(checks); s != nil {
		p.Waits = fmt.Sprintf("status %s is %s", s.Context, s.State)
		return true
	}
	now := p.now()
	if listed < len(ours) || since.After(now) {
		since = now // the forge's list is late, or its clock is ahead
	}
	if others || p.Settle <= 0 || now.Sub(since) >= p.Settle {
		return false
	}
	p.Next = since.Add(p.Settle)
	p.Waits = fmt.Sprintf(mayAppear+", until %s", p.Next.UTC().Format("15:04:05 MST"))
	return true
}

func (p *PullRequest) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// mayAppear begins the explanation that the forge may not know all checks yet.
const mayAppear = "checks of the commit may still appear"

// WaitsForChecks reports whether the explanation why a pull request is not merged automatically, [PullRequest.Waits], is about checks that still
// run or may still appear. Then no user has to act.
func WaitsForChecks(waits string) bool {
	return strings.HasPrefix(waits, mayAppear) || strings.HasPrefix(waits, "status ") && strings.HasSuffix(waits, " is "+string(forge.Pending))
}

const waitsForForge = "the forge merges it when everything that the branch requires is done"

func notYet(err error) string { return "the forge does not merge it yet: " + err.Error() }

// autoMerger returns the forge's ability to merge once checks succeed, and the checks that the branch requires.
// It is nil if the forge has none, or must not use it: it may merge a later commit of the branch, so the branch has to require
// the checks that judge each commit.
func (p *PullRequest) autoMerger(ctx context.Context, required []string) (forge.AutoMerger, []string, error) {
	merger, ok := p.Repository.(forge.AutoMerger)
	protector, readable := p.Repository.(forge.Protector)
	if !ok || !readable {
		return nil, nil, nil
	}
	protection, err := protector.Protection(ctx, p.Base)
	switch {
	case errors.Is(err, forge.ErrDenied), errors.Is(err, forge.ErrNotFound):
		return nil, nil, nil // reading it needs a right of its own
	case err != nil:
		return nil, nil, fmt.Errorf("read the protection of branch %q: %w", p.Base, err)
	}
	for _, name := range required {
		if !slices.Contains(protection.Checks, name) {
			return nil, nil, nil
		}
	}
	return merger, protection.Checks, nil
}

// autoMerge asks the forge to merge later, and writes that to the mark, so that a user can take it back.
func (p *PullRequest) autoMerge(ctx context.Context, merger forge.AutoMerger, proposal *Proposal, mark *Mark) error {
	err := merger.AutoMerge(ctx, p.Open.Number, forge.Merge{Head: mark.Commit, Title: proposal.Title})
	if errors.Is(err, forge.ErrConflict) {
		p.Waits = notYet(err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("request the merge of pull request %d: %w", p.Open.Number, err)
	}
	p.did("requested the merge of pull request %d", p.Open.Number)
	p.Waits = waitsForForge
	mark.Merging = mark.Commit
	return p.writeMark(ctx, proposal, mark)
}

// Unfinished returns a status, or another check that the forge knows of, that has not succeeded for a commit; nil if all have.
func Unfinished(ctx context.Context, repository forge.Repository, commit string) (*forge.Status, error) {
	checks, err := readChecks(ctx, repository, commit)
	return unfinished(checks), err
}

// readChecks returns the statuses of a commit, and the other checks that the forge knows of.
func readChecks(ctx context.Context, repository forge.Repository, commit string) ([]forge.Status, error) {
	read := repository.Statuses
	if checker, ok := repository.(forge.Checker); ok {
		read = checker.Checks
	}
	checks, err := read(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("read statuses: %w", err)
	}
	return checks, nil
}

// unfinished returns the first status that has not succeeded; nil if all have.
func unfinished(statuses []forge.Status) *forge.Status {
	if i := slices.IndexFunc(statuses, func(s forge.Status) bool { return s.State != forge.Success }); i >= 0 {
		return &statuses[i]
	}
	return nil
}

// mergeLag is how long a forge may take to report a pull request as merged after it has moved the branch.
const mergeLag = time.Minute

// merging reports whether the open pull request was merged just now: forges move the branch first.
// If its commit came onto the branch longer ago, it was pushed there by hand, and nothing is left to merge.
func (p *PullRequest) merging(ctx context.Context) (bool, error) {
	now, err := p.Repository.PullRequest(ctx, p.Open.Number)
	if err != nil {
		return false, fmt.Errorf("read pull request %d: %w", p.Open.Number, err)
	}
	if now.State == forge.Merged {
		return true, nil
	}
	if time.Since(p.Time) > mergeLag {
		return false, nil
	}
	// An error means that the histories have nothing in common, so that this head was not merged.
	fork, err := p.Fork(ctx, now.Fetch, now.Head.Commit)
	return err == nil && fork == now.Head.Commit, nil
}

// Withdraw closes the open pull request, if there is one, with a comment that says why. It closes it last, because an interrupted
// round finds only an open one. Before, it removes the digest from the text: a pull request that is closed with its digest
// was refused by a user, and some forges close it themselves when its branch is deleted.
func (p *PullRequest) Withdraw(ctx context.Context, why string) error {
	if p.Open == nil {
		return nil
	}
	number := p.Open.Number
	if merging, err := p.merging(ctx); err != nil {
		return err
	} else if merging {
		return fmt.Errorf("pull request %d is being merged: %w", number, ErrMoved)
	}
	if _, err := p.Repository.UpsertComment(ctx, number, "kalypso/withdrawn/"+p.Name, why); err != nil {
		return fmt.Errorf("comment on pull request %d: %w", number, err)
	}
	if p.Published().Digest != "" {
		body := forge.Mark(without(p.Open.Body), Mark{Name: p.Name}.String(), p.Limits.Body)
		if err := p.Repository.EditPullRequest(ctx, number, forge.PullRequestEdit{Body: &body}); err != nil {
			return fmt.Errorf("edit pull request %d: %w", number, err)
		}
		p.did("withdrew pull request %d, nothing is left to change", number)
	}
	if branches, ok := p.Repository.(forge.Brancher); ok {
		if err := branches.DeleteBranch(ctx, p.Head); err != nil {
			return fmt.Errorf("delete branch %q: %w", p.Head, err)
		}
		p.did("deleted %s", p.Head)
	}
	closed := forge.Closed
	if err := p.Repository.EditPullRequest(ctx, number, forge.PullRequestEdit{State: &closed}); errors.Is(err, forge.ErrConflict) {
		return errors.Join(ErrMoved, err) // it was merged meanwhile
	} else if err != nil {
		return fmt.Errorf("close pull request %d: %w", number, err)
	}
	p.Open = nil
	p.did("closed pull request %d", number)
	return nil
}
