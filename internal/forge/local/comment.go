package local

import (
	"context"
	"fmt"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Comments returns the comments on a pull request, oldest first.
func (r *Repository) Comments(ctx context.Context, number int) ([]forge.Comment, error) {
	return view(ctx, r, "list comments", func(e entry) ([]forge.Comment, error) {
		if _, err := r.pullRequest(ctx, r.forge.db, e, number); err != nil {
			return nil, err
		}
		return r.comments(ctx, e, number, "pulls")
	})
}

// comments returns the comments on a pull request or an issue. page is the folder of its page.
func (r *Repository) comments(ctx context.Context, e entry, number int, page string) ([]forge.Comment, error) {
	return queryAll(ctx, r.forge.db, func(s scanner) (c forge.Comment, err error) {
		var created int64
		err = s.Scan(&c.ID, &c.Author, &c.Body, &created)
		c.CreatedAt = timeOf(created)
		c.URL = fmt.Sprintf("%s#comment-%s", r.forge.pageURL(e, page, strconv.Itoa(number)), c.ID)
		return c, err
	}, "selectComments", e.id, number)
}

// UpsertComment creates or updates this account's comment with a marker.
func (r *Repository) UpsertComment(ctx context.Context, number int, marker, body string) (comment forge.Comment, err error) {
	defer r.explain("comment", &err)
	body = forge.Mark(body, marker, limits.Comment)
	err = r.write(ctx, Write, func(e entry) error {
		if _, err := r.pullRequest(ctx, r.forge.db, e, number); err != nil {
			return err
		}
		all, err := r.comments(ctx, e, number, "pulls")
		if err != nil {
			return err
		}
		var found bool
		if comment, found = forge.MarkedComment(all, marker, r.who()); !found {
			comment, err = r.addComment(ctx, e, number, body)
			return err
		}
		if comment.Body == body {
			return nil
		}
		comment.Body = body
		if err := execute(ctx, r.forge.db, "updateComment", body, comment.ID); err != nil {
			return err
		}
		return r.forge.tellAbout(ctx, e, forge.EventComment, number, r.who())
	})
	return comment, err
}

// Comment adds a comment to a pull request.
func (r *Repository) Comment(ctx context.Context, number int, body string) (comment forge.Comment, err error) {
	defer r.explain("comment", &err)
	err = r.write(ctx, Write, func(e entry) error {
		if _, err := r.pullRequest(ctx, r.forge.db, e, number); err != nil {
			return err
		}
		comment, err = r.addComment(ctx, e, number, forge.Cut(body, limits.Comment))
		return err
	})
	return comment, err
}

func (r *Repository) addComment(ctx context.Context, e entry, number int, body string) (forge.Comment, error) {
	c := forge.Comment{Author: r.who(), Body: body, CreatedAt: r.forge.now()}
	err := row(ctx, r.forge.db, "insertComment", e.id, number, c.Author, body, microseconds(c.CreatedAt)).Scan(&c.ID)
	if err != nil {
		return c, err
	}
	c.URL = r.forge.pullRequestURL(e, number) + "#comment-" + c.ID
	return c, r.forge.tellAbout(ctx, e, forge.EventComment, number, r.who())
}
