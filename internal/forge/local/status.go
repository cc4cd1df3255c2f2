package local

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func scanStatus(s scanner) (t forge.Status, err error) {
	var at int64
	err = s.Scan(&t.Context, &t.State, &t.Description, &t.URL, &t.Required, &at)
	t.Time = timeOf(at)
	return t, err
}

// SetStatus posts a status for a commit, and runs merges that waited for it.
func (r *Repository) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	return r.setStatus(ctx, commit, s, false)
}

// SetEarlyStatus implements [forge.EarlyStatuses].
func (r *Repository) SetEarlyStatus(ctx context.Context, commit string, s forge.Status) error {
	return r.setStatus(ctx, commit, s, true)
}

func (r *Repository) setStatus(ctx context.Context, commit string, s forge.Status, early bool) (err error) {
	defer r.explain("set status", &err)
	s.Context = forge.OneLine(s.Context, 200)
	switch s.State {
	case forge.Pending, forge.Success, forge.Failure, forge.Errored:
	default:
		return invalid("a status is pending, success, failure or error")
	}
	if s.Context == "" {
		return invalid("a status needs a context")
	}
	return r.write(ctx, Write, func(e entry) error {
		if !plumbing.IsHash(commit) || !early && !r.forge.open(e).has(plumbing.NewHash(commit)) {
			return notFound("commit " + commit + " does not exist")
		}
		err := execute(ctx, r.forge.db, "upsertStatus", e.id, commit, s.Context, s.State,
			forge.OneLine(s.Description, limits.StatusDescription), s.URL, s.Required, microseconds(r.forge.now()))
		if err != nil {
			return err
		}
		if err := r.forge.tell(ctx, e, forge.Event{Kind: forge.EventStatus, Commit: commit, Sender: r.who()}); err != nil {
			return err
		}
		return r.forge.mergeWaiting(ctx, e, commit)
	})
}

// Statuses returns the latest status of each context.
func (r *Repository) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	return view(ctx, r, "list statuses", func(e entry) ([]forge.Status, error) {
		return r.forge.statuses(ctx, e, commit)
	})
}

func (in *installation) statuses(ctx context.Context, e entry, commit string) ([]forge.Status, error) {
	return queryAll(ctx, in.db, scanStatus, "selectStatuses", e.id, commit)
}
