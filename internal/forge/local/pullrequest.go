package local

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/kalypso-io/kalypso/internal/forge"
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
	if err := row(ctx, tx, "nextNumber", e.id).Scan(&number); err != nil {
		return 0, err
	}
	err = execute(ctx, tx, "insertPullRequest", e.id, number, n.Title, forge.Cut(n.Body, limits.Body), n.Draft,
		r.who(), microseconds(r.forge.now()), n.Head, head, n.Base)
	return number, err
}

// unique returns an error if another open pull request has the same head and base.
func unique(ctx context.Context, tx *sql.Tx, e entry, head, base string, except int) error {
	others, err := queryAll(ctx, tx, scanText, "selectOpenBetween", e.id, head, base, except)
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
		return "", invalid("branch " + head + " does not exist")
	case to.IsZero():
		return "", invalid("branch " + base + " does not exist")
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
		edited := false
		err := inTransaction(ctx, r.forge.db, func(tx *sql.Tx) error {
			c, err := r.pullRequest(ctx, tx, e, number)
			if err != nil {
				return err
			}
			before := c.PullRequest
			if err := r.applyText(&c, edit); err != nil {
				return err
			}
			err = execute(ctx, tx, "updatePullRequestText", c.Title, c.Body, e.id, number)
			edited = c.Title != before.Title || c.Body != before.Body
			if err != nil || !r.moves(c, edit) {
				return err
			}
			edited = true
			return r.applyState(ctx, tx, e, c, edit)
		})
		if err != nil || !edited {
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
		return conflict("the pull request is merged")
	}
	objects := r.forge.open(e)
	if edit.Base != nil {
		if to, err := objects.branch(*edit.Base); err != nil || to.IsZero() {
			return cmp.Or(err, invalid("branch "+*edit.Base+" does not exist"))
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
			return invalid("the state can be set to open or closed only; use merge to merge")
		}
	}
	if c.State == forge.Open {
		if err := unique(ctx, tx, e, c.Head.Branch, c.Base.Branch, c.Number); err != nil {
			return err
		}
	}
	err := execute(ctx, tx, "updatePullRequest", c.Title, c.Body, c.Base.Branch, c.State, c.EndedBy, microseconds(c.EndedAt),
		c.Head.Commit, e.id, c.Number)
	return err
}

// Ready marks a draft as ready for review. Other pull requests stay unchanged.
func (r *Repository) Ready(ctx context.Context, number int) (err error) {
	defer r.explain("mark pull request as ready", &err)
	return r.write(ctx, Write, func(e entry) error {
		c, err := r.pullRequest(ctx, r.forge.db, e, number)
		if err != nil || !c.Draft {
			return err
		}
		if err := execute(ctx, r.forge.db, "setReady", e.id, number); err != nil {
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
