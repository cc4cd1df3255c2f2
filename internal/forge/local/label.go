package local

import (
	"context"
	"database/sql"
	"errors"
	"regexp"

	"github.com/kalypso-io/kalypso/internal/forge"
)

var colorPattern = regexp.MustCompile(`^[0-9a-fA-F]{6}$`)

// EnsureLabel creates a label that the repository does not have.
func (r *Repository) EnsureLabel(ctx context.Context, l forge.Label) (err error) {
	defer r.explain("create label", &err)
	l.Name = forge.OneLine(l.Name, 100)
	if l.Name == "" {
		return invalid("the label has no name")
	}
	if !colorPattern.MatchString(l.Color) {
		l.Color = forge.DefaultColor
	}
	return r.write(ctx, Write, func(e entry) error {
		return execute(ctx, r.forge.db, "insertLabel", e.id, l.Name, l.Color, forge.OneLine(l.Description, 200))
	})
}

// Labels returns the labels of the repository, sorted.
func (r *Repository) Labels(ctx context.Context) ([]forge.Label, error) {
	return view(ctx, r, "list labels", func(e entry) ([]forge.Label, error) {
		return queryAll(ctx, r.forge.db, func(s scanner) (l forge.Label, err error) {
			err = s.Scan(&l.Name, &l.Color, &l.Description)
			return l, err
		}, "selectLabels", e.id)
	})
}

// AddLabels adds labels that exist in the repository to a pull request.
func (r *Repository) AddLabels(ctx context.Context, number int, names ...string) (err error) {
	defer r.explain("add labels", &err)
	return r.write(ctx, Write, func(e entry) error {
		if _, err := r.pullRequest(ctx, r.forge.db, e, number); err != nil {
			return err
		}
		added := false
		err := inTransaction(ctx, r.forge.db, func(tx *sql.Tx) error {
			var err error
			added, err = r.tag(ctx, tx, e, number, names)
			return err
		})
		if err != nil || !added {
			return err
		}
		return r.forge.tellAbout(ctx, e, forge.EventLabel, number, r.who())
	})
}

// tag adds labels to a pull request or an issue, and reports whether one of them was new.
func (r *Repository) tag(ctx context.Context, tx *sql.Tx, e entry, number int, names []string) (added bool, err error) {
	for _, name := range names {
		var known string
		err := row(ctx, tx, "selectLabel", e.id, name).Scan(&known)
		if errors.Is(err, sql.ErrNoRows) {
			return false, notFound("label " + name + " does not exist")
		}
		if err != nil {
			return false, err
		}
		changed, err := affected(ctx, tx, "insertLabeled", e.id, number, known, r.who(), microseconds(r.forge.now()))
		if err != nil {
			return false, err
		}
		added = added || changed
	}
	return added, nil
}

// RemoveLabel removes a label from a pull request.
func (r *Repository) RemoveLabel(ctx context.Context, number int, name string) (err error) {
	defer r.explain("remove label", &err)
	return r.write(ctx, Write, func(e entry) error {
		if _, err := r.pullRequest(ctx, r.forge.db, e, number); err != nil {
			return err
		}
		if changed, err := affected(ctx, r.forge.db, "deleteLabeled", e.id, number, name); err != nil || !changed {
			return err
		}
		return r.forge.tellAbout(ctx, e, forge.EventLabel, number, r.who())
	})
}

// LabeledBy returns who added a label to a pull request.
func (r *Repository) LabeledBy(ctx context.Context, number int, name string) (string, error) {
	return view(ctx, r, "read who added a label", func(e entry) (who string, err error) {
		err = row(ctx, r.forge.db, "selectLabeler", e.id, number, name).Scan(&who)
		if errors.Is(err, sql.ErrNoRows) {
			return "", nil
		}
		return who, err
	})
}
