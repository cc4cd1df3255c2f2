package scheduling

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// merge merges the change where the environment asks for that and nothing speaks against it.
func (r *round) merge(ctx context.Context, want wanted) error {
	if !r.loaded.Snapshot.GitOps.AutoMerge {
		return nil
	}
	if want.status.State != forge.Success {
		r.outcome.Waits = want.status.Description
		return nil
	}
	if want.mark.Merging == want.mark.Commit {
		r.outcome.Waits = waitsForForge
		return nil
	}
	later, err := r.mergesLater(ctx)
	if err != nil {
		return err
	}
	if later != nil {
		return r.leaveMerging(ctx, later, want)
	}
	if waits, err := r.unfinished(ctx, want.mark.Commit); waits != "" || err != nil {
		r.outcome.Waits = waits
		return err
	}
	_, err = r.repo.MergeChange(ctx, r.open.Number, want.merge())
	if errors.Is(err, forge.ErrConflict) {
		r.outcome.Waits = "the forge does not merge it yet: " + err.Error()
		return nil
	}
	if err != nil {
		return fmt.Errorf("merge change %d: %w", r.open.Number, err)
	}
	r.open.State = forge.Merged
	return r.done("merged", fmt.Sprintf("merged change %d", r.open.Number))
}

func (w wanted) merge() forge.Merge { return forge.Merge{Head: w.mark.Commit, Title: w.title} }

const waitsForForge = "the forge merges it when everything that the branch demands is there"

// mergesLater returns the forge's way to merge by itself once the checks are there; nil when it has none, or must not use it.
// It may merge a later commit of the branch, which may remove too much. So the branch has to demand the status about that.
func (r *round) mergesLater(ctx context.Context) (forge.AutoMerger, error) {
	later, ok := r.repo.(forge.AutoMerger)
	protector, readable := r.repo.(forge.Protector)
	if !ok || !readable {
		return nil, nil
	}
	base := r.gitops.Location.Branch
	demands, err := protector.Protection(ctx, base)
	switch {
	case errors.Is(err, forge.ErrDenied), errors.Is(err, forge.ErrNotFound):
		return nil, nil // not everybody may read it
	case err != nil:
		return nil, fmt.Errorf("read what branch %q demands: %w", base, err)
	case slices.Contains(demands.Checks, StatusDeletions):
		return later, nil
	}
	return nil, nil
}

// leaveMerging leaves it to the forge, and notes that in the body: a person who takes it back is not overruled.
func (r *round) leaveMerging(ctx context.Context, later forge.AutoMerger, want wanted) error {
	err := later.AutoMerge(ctx, r.open.Number, want.merge())
	if errors.Is(err, forge.ErrConflict) {
		r.outcome.Waits = "the forge does not merge it yet: " + err.Error()
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask to merge change %d: %w", r.open.Number, err)
	}
	if err := r.done("merge asked for", fmt.Sprintf("left it to the forge to merge change %d", r.open.Number)); err != nil {
		return err
	}
	r.outcome.Waits = waitsForForge
	want.mark.Merging = want.mark.Commit
	body := want.body()
	if err := r.repo.EditChange(ctx, r.open.Number, forge.ChangeEdit{Body: &body}); err != nil {
		return fmt.Errorf("edit change %d: %w", r.open.Number, err)
	}
	r.open.Body = body
	return nil
}

// unfinished says what speaks against merging a commit: a status or check that has not succeeded.
func (r *round) unfinished(ctx context.Context, commit string) (string, error) {
	read := r.repo.Statuses
	if checker, ok := r.repo.(forge.Checker); ok {
		read = checker.Checks // what CI says by other means than a status counts as well
	}
	statuses, err := read(ctx, commit)
	if err != nil {
		return "", fmt.Errorf("read statuses: %w", err)
	}
	if i := slices.IndexFunc(statuses, func(s forge.Status) bool { return s.State != forge.Success }); i >= 0 {
		return fmt.Sprintf("status %s is %s", statuses[i].Context, statuses[i].State), nil
	}
	return "", nil
}
