package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// merge merges the change where that is asked for and nothing speaks against it.
func (l *Living) merge(ctx context.Context, p *Proposal, mark *Mark) error {
	if !p.AutoMerge {
		return nil
	}
	if i := slices.IndexFunc(p.Statuses, func(s forge.Status) bool { return s.State != forge.Success }); i >= 0 {
		l.Waits = p.Statuses[i].Description
		return nil
	}
	if mark.Merging == mark.Commit {
		l.Waits = waitsForForge
		return nil
	}
	later, err := l.mergesLater(ctx, p.Demands)
	if err != nil {
		return err
	}
	if later != nil {
		return l.leaveMerging(ctx, later, p, mark)
	}
	if waits, err := l.unfinished(ctx, mark.Commit); waits != "" || err != nil {
		l.Waits = waits
		return err
	}
	_, err = l.Repository.MergePullRequest(ctx, l.Open.Number, forge.Merge{Head: mark.Commit, Title: p.Title})
	if errors.Is(err, forge.ErrConflict) {
		l.Waits = "the forge does not merge it yet: " + err.Error()
		return nil
	}
	if err != nil {
		return fmt.Errorf("merge change %d: %w", l.Open.Number, err)
	}
	l.Open.State = forge.Merged
	return l.done("merged", fmt.Sprintf("merged change %d", l.Open.Number))
}

const waitsForForge = "the forge merges it when everything that the branch demands is there"

// mergesLater returns the forge's way to merge by itself once the checks are there; nil when it has none, or must not use it.
// It may merge a later commit of the branch, so the branch has to demand the statuses that judge one.
func (l *Living) mergesLater(ctx context.Context, demands []string) (forge.AutoMerger, error) {
	later, ok := l.Repository.(forge.AutoMerger)
	protector, readable := l.Repository.(forge.Protector)
	if !ok || !readable {
		return nil, nil
	}
	is, err := protector.Protection(ctx, l.Base)
	switch {
	case errors.Is(err, forge.ErrDenied), errors.Is(err, forge.ErrNotFound):
		return nil, nil // not everybody may read it
	case err != nil:
		return nil, fmt.Errorf("read what branch %q demands: %w", l.Base, err)
	}
	for _, demanded := range demands {
		if !slices.Contains(is.Checks, demanded) {
			return nil, nil
		}
	}
	return later, nil
}

// leaveMerging leaves it to the forge, and notes that in the text: a person who takes it back is not overruled.
func (l *Living) leaveMerging(ctx context.Context, later forge.AutoMerger, p *Proposal, mark *Mark) error {
	err := later.AutoMerge(ctx, l.Open.Number, forge.Merge{Head: mark.Commit, Title: p.Title})
	if errors.Is(err, forge.ErrConflict) {
		l.Waits = "the forge does not merge it yet: " + err.Error()
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask to merge change %d: %w", l.Open.Number, err)
	}
	if err := l.done("merge asked for", fmt.Sprintf("left it to the forge to merge change %d", l.Open.Number)); err != nil {
		return err
	}
	l.Waits = waitsForForge
	mark.Merging = mark.Commit
	return l.remark(ctx, p, mark)
}

// unfinished says what speaks against merging a commit; empty when nothing does.
func (l *Living) unfinished(ctx context.Context, commit string) (string, error) {
	status, err := Unfinished(ctx, l.Repository, commit)
	if status == nil || err != nil {
		return "", err
	}
	return fmt.Sprintf("status %s is %s", status.Context, status.State), nil
}

// Unfinished returns what speaks against merging a commit: a status that has not succeeded, or what CI says by other means
// where the forge tells. It is nil when nothing does.
func Unfinished(ctx context.Context, repository forge.Repository, commit string) (*forge.Status, error) {
	read := repository.Statuses
	if checker, ok := repository.(forge.Checker); ok {
		read = checker.Checks
	}
	statuses, err := read(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("read statuses: %w", err)
	}
	if i := slices.IndexFunc(statuses, func(s forge.Status) bool { return s.State != forge.Success }); i >= 0 {
		return &statuses[i], nil
	}
	return nil, nil
}
