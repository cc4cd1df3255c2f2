package local

import (
	"context"
	"database/sql"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func scanAnnotation(s scanner) (a forge.Annotation, err error) {
	err = s.Scan(&a.File, &a.Line, &a.Level, &a.Title, &a.Message, &a.Hint, &a.More)
	return a, err
}

// Annotate replaces this account's annotations of a pull request under a name. The pull request's page shows them.
func (r *Repository) Annotate(ctx context.Context, number int, a forge.Annotations) (err error) {
	defer r.explain("annotate pull request", &err)
	shown := a.Shown()
	if slices.ContainsFunc(shown, func(a forge.Annotation) bool { return !a.Level.Known() }) {
		return invalid("an annotation is a refusal, a warning or a notice")
	}
	return r.write(ctx, Write, func(e entry) error {
		c, err := r.pullRequest(ctx, r.forge.db, e, number)
		if err != nil {
			return err
		}
		if c.Head.Commit != a.Commit {
			return conflict("the head of the pull request is another commit")
		}
		return inTransaction(ctx, r.forge.db, func(tx *sql.Tx) error {
			if err := execute(ctx, tx, "deleteAnnotations", e.id, number, r.who(), a.Name); err != nil {
				return err
			}
			for i, s := range shown {
				err := execute(ctx, tx, "insertAnnotation",
					e.id, number, r.who(), a.Name, i, s.File, max(s.Line, 0), s.Level, s.Title, s.Message, s.Hint, s.More)
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// annotations returns all annotations of a pull request, by any account.
func (in *installation) annotations(ctx context.Context, e entry, number int) ([]forge.Annotation, error) {
	return queryAll(ctx, in.db, scanAnnotation, "selectAnnotations", e.id, number)
}
