package local

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/kalypso-io/kalypso/internal/forge"
)

const (
	insertPullRequest = `INSERT INTO pull_request (repository, number, title, body, state, draft, author, created_at, head, head_commit, base)
		VALUES (?, ?, ?, ?, 'open', ?, ?, ?, ?, ?, ?)`
	updatePullRequest = `UPDATE pull_request SET title = ?, body = ?, base = ?, state = ?, ended_by = ?, ended_at = ?, head_commit = ?,
		auto_merge = '', auto_by = '' WHERE repository = ? AND number = ?`
	updatePullRequestText = `UPDATE pull_request SET title = ?, body = ? WHERE repository = ? AND number = ?`
	setReady              = `UPDATE pull_request SET draft = 0 WHERE repository = ? AND number = ?`
	selectOpenBetween     = `SELECT number FROM pull_request WHERE repository = ? AND head = ? AND base = ? AND state = 'open' AND number <> ?`
)

// OpenPullRequest opens a pull request between two branches of the repository.
func (r *Repository) OpenPullRequest(ctx context.Context, n forge.NewPullRequest) (opened forge.PullRequest, err error) {
	defer r.explain("open pull request", &err)
	n.Title = forge.OneLine(n.Title, limits.Title)
	if n.Title == "" {
		return forge.PullRequest{}, invalid("the title is empty")
	}
	var number int
	err = r.write(ctx, Write, func(e entry) error {
		head, err := r.forge.changed(ctx, e, n.Head, n.Base)
		if err != nil {
			return err
		}
		err = inTransaction(ctx, r.forge.db, func(tx *sql.Tx) error {
			number, err = r.insertPullRequest(ctx, tx, e, n, head)
			return err
		})
		if err != nil {
			return err
		}
		// If the process dies before the reference exists, the next start creates it.
		if err := r.forge.keepHead(e, number, head); err != nil {
			return err
		}
		return r.publishPullRequest(ctx, e, number)
	})
	if err != nil {
		return forge.PullRequest{}, err
	}
	return r.PullRequest(ctx, number)
}

func (r *Repository) insertPullRequest(ctx context.Context, tx *sql.Tx, e entry, n forge.NewPullRequest, head string) (number int, err error) {
	if err := unique(ctx, tx, e, n.Head, n.Base, 0); err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, nextNumber, e.id).Scan(&number); err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, insertPullRequest, e.id, number, n.Title, forge.Cut(n.Body, limits.Body), n.Draft,
		r.who(), microseconds(r.forge.now()), n.Head, head, n.Base)
	return number, err
}

// unique returns an error if another open pull request has the same head and base.
func unique(ctx context.Context, tx *sql.Tx, e entry, head, base string, except int) error {
	others, err := queryAll(ctx, tx, scanText, selectOpenBetween, e.id, head, base, except)
	if err == nil && len(others) > 0 {
		return conflict("pull request " + others[0] + " is open from " + head + " to " + base)
	}
	return err
}

// changed returns the commit of a head branch. It is an error if the base branch already contains it.
func (in *installation) changed(ctx context.Context, e entry, head, base string) (string, error) {
	objects := in.open(e)
	from, err := objects.branch(head)
	if err != nil {
		return "", err
	}
	to, err := objects.branch(base)
	if err != nil {
		return "", err
	}
	switch {
	case from.IsZero():
		return "", invalid("there is no branch " + head)
	case to.IsZero():
		return "", invalid("there is no branch " + base)
	}
	if done, err := objects.contains(ctx, to, from); err != nil || done {
		return "", cmp.Or(err, invalid(base+" has everything that "+head+" has"))
	}
	return from.String(), nil
}

// EditPullRequest edits a pull request.
func (r *Repository) EditPullRequest(ctx context.Context, number int, edit forge.PullRequestEdit) (err error) {
	defer r.explain("edit pull request", &err)
	return r.write(ctx, Write, func(e entry) error {
		told := false
		err := inTransaction(ctx, r.forge.db, func(tx *sql.Tx) error {
			c, err := r.pullRequest(ctx, tx, e, number)
			if err != nil {
				return err
			}
			before := c.PullRequest
			if err := r.applyText(&c, edit); err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, updatePullRequestText, c.Title, c.Body, e.id, number)
			told = c.Title != before.Title || c.Body != before.Body
			if err != nil || !r.moves(c, edit) {
				return err
			}
			told = true
			return r.applyState(ctx, tx, e, c, edit)
		})
		if err != nil || !told {
			return err
		}
		// A new base may already have the head, and a reopened pull request may have missed pushes to its branch.
		if err := r.forge.sync(ctx, e, r.who(), nil); err != nil {
			return err
		}
		return r.publishPullRequest(ctx, e, number)
	})
}

// applyText applies an edit's title and body.
func (r *Repository) applyText(c *pullRequest, edit forge.PullRequestEdit) error {
	if edit.Title != nil {
		if c.Title = forge.OneLine(*edit.Title, limits.Title); c.Title == "" {
			return invalid("the title is empty")
		}
	}
	if edit.Body != nil {
		c.Body = forge.Cut(*edit.Body, limits.Body)
	}
	return nil
}

// moves reports whether an edit changes the state or the base.
func (r *Repository) moves(c pullRequest, edit forge.PullRequestEdit) bool {
	return edit.State != nil && *edit.State != c.State || edit.Base != nil && *edit.Base != c.Base.Branch
}

// applyState applies an edit's state and base. It cancels a waiting merge.
func (r *Repository) applyState(ctx context.Context, tx *sql.Tx, e entry, c pullRequest, edit forge.PullRequestEdit) error {
	if c.State == forge.Merged {
		return conflict("the change is merged")
	}
	objects := r.forge.open(e)
	if edit.Base != nil {
		if to, err := objects.branch(*edit.Base); err != nil || to.IsZero() {
			return cmp.Or(err, invalid("there is no branch "+*edit.Base))
		}
		c.Base.Branch = *edit.Base
	}
	if edit.State != nil && *edit.State != c.State {
		switch *edit.State {
		case forge.Closed:
			c.State, c.EndedBy, c.EndedAt = forge.Closed, r.who(), r.forge.now()
		case forge.Open:
			head, err := objects.branch(c.Head.Branch)
			if err != nil || head.IsZero() {
				return cmp.Or(err, conflict("its branch "+c.Head.Branch+" is gone"))
			}
			c.State, c.EndedBy, c.EndedAt = forge.Open, "", timeOf(0)
		default:
			return invalid("a change becomes open or closed; merging is another operation")
		}
	}
	if c.State == forge.Open {
		if err := unique(ctx, tx, e, c.Head.Branch, c.Base.Branch, c.Number); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, updatePullRequest, c.Title, c.Body, c.Base.Branch, c.State, c.EndedBy, microseconds(c.EndedAt),
		c.Head.Commit, e.id, c.Number)
	return err
}

// Ready marks a draft as ready for review. Other pull requests stay unchanged.
func (r *Repository) Ready(ctx context.Context, number int) (err error) {
	defer r.explain("mark change as ready", &err)
	return r.write(ctx, Write, func(e entry) error {
		c, err := r.pullRequest(ctx, r.forge.db, e, number)
		if err != nil || !c.Draft {
			return err
		}
		if _, err := r.forge.db.ExecContext(ctx, setReady, e.id, number); err != nil {
			return err
		}
		if err := r.publishPullRequest(ctx, e, number); err != nil {
			return err
		}
		return r.forge.mergeWaiting(ctx, e, c.Head.Commit)
	})
}

// publishPullRequest publishes that a pull request was edited.
func (r *Repository) publishPullRequest(ctx context.Context, e entry, number int) error {
	return r.forge.tellAbout(ctx, e, forge.EventPullRequest, number, r.who())
}
