package local

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func scanIssue(s scanner) (i forge.Issue, err error) {
	err = s.Scan(&i.Number, &i.Title, &i.Body, &i.State, &i.Author)
	return i, err
}

// FindIssues returns the issues that match a filter, newest first.
func (r *Repository) FindIssues(ctx context.Context, f forge.IssueFilter) ([]forge.Issue, error) {
	return view(ctx, r, "list issues", func(e entry) (found []forge.Issue, err error) {
		all, err := queryAll(ctx, r.forge.db, scanIssue, "selectIssues", e.id, string(f.State))
		if err != nil || len(all) == 0 {
			return nil, err
		}
		labels, err := r.forge.labelsOf(ctx, e, all[len(all)-1].Number, all[0].Number)
		if err != nil {
			return nil, err
		}
		for _, i := range all {
			i.URL, i.Labels = r.forge.issueURL(e, i.Number), labels[i.Number]
			if f.Matches(i) && (f.Label == "" || slices.ContainsFunc(i.Labels, func(l string) bool { return strings.EqualFold(l, f.Label) })) {
				found = append(found, i)
			}
		}
		return found, nil
	})
}

// Issue returns one issue.
func (r *Repository) Issue(ctx context.Context, number int) (forge.Issue, error) {
	return view(ctx, r, "read issue", func(e entry) (forge.Issue, error) {
		return r.issue(ctx, e, number)
	})
}

func (r *Repository) issue(ctx context.Context, e entry, number int) (forge.Issue, error) {
	i, err := scanIssue(row(ctx, r.forge.db, "selectIssueNumbered", e.id, number))
	if err != nil {
		return forge.Issue{}, err
	}
	labels, err := r.forge.labelsOf(ctx, e, number, number)
	i.URL, i.Labels = r.forge.issueURL(e, number), labels[number]
	return i, err
}

// OpenIssue opens an issue.
func (r *Repository) OpenIssue(ctx context.Context, n forge.NewIssue) (opened forge.Issue, err error) {
	defer r.explain("open issue", &err)
	n.Title = forge.OneLine(n.Title, limits.Title)
	if n.Title == "" {
		return forge.Issue{}, invalid("the title is empty")
	}
	err = r.write(ctx, Write, func(e entry) error {
		var number int
		err := inTransaction(ctx, r.forge.db, func(tx *sql.Tx) error {
			if err := row(ctx, tx, "nextNumber", e.id).Scan(&number); err != nil {
				return err
			}
			err := execute(ctx, tx, "insertIssue", e.id, number, n.Title, forge.Cut(n.Body, limits.Body), r.who(),
				microseconds(r.forge.now()))
			if err != nil {
				return err
			}
			_, err = r.tag(ctx, tx, e, number, n.Labels)
			return err
		})
		if err != nil {
			return err
		}
		opened, err = r.issue(ctx, e, number)
		return err
	})
	return opened, err
}

// EditIssue edits an issue.
func (r *Repository) EditIssue(ctx context.Context, number int, edit forge.IssueEdit) (err error) {
	defer r.explain("edit issue", &err)
	return r.write(ctx, Write, func(e entry) error {
		i, err := r.issue(ctx, e, number)
		if err != nil {
			return err
		}
		if edit.Title != nil {
			if i.Title = forge.OneLine(*edit.Title, limits.Title); i.Title == "" {
				return invalid("the title is empty")
			}
		}
		if edit.Body != nil {
			i.Body = forge.Cut(*edit.Body, limits.Body)
		}
		if edit.State != nil {
			if i.State = *edit.State; i.State != forge.Open && i.State != forge.Closed {
				return invalid("an issue is open or closed")
			}
		}
		err = execute(ctx, r.forge.db, "updateIssue", i.Title, i.Body, i.State, e.id, number)
		return err
	})
}
