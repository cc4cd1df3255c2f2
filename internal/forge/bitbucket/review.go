package bitbucket

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// participant is a reviewer, or another user who took part in a pull request.
type participant struct {
	User  user   `json:"user"`
	State string `json:"state"`
}

var decisions = map[string]forge.ReviewDecision{"approved": forge.Approved, "changes_requested": forge.ChangesRequested}

// activity is an entry in the history of a pull request. One of its fields is set.
type activity struct {
	Update *struct {
		Date   time.Time `json:"date"`
		Source end       `json:"source"`
	} `json:"update"`
	Approval         *decision `json:"approval"`
	ChangesRequested *decision `json:"changes_requested"`
}

type decision struct {
	Date time.Time `json:"date"`
	User user      `json:"user"`
}

// Reviews reads the decisions of the participants. The history of the pull request tells when each was made, and which head it had then.
func (r *Repository) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	p, err := r.pull(ctx, number)
	if err != nil {
		return nil, err
	}
	history, err := rest.Select(ctx, &r.Repository, list(rest.Request{Op: "read reviews", Path: rest.Path("pullrequests", number, "activity")}),
		func(a activity) activity { return a }, nil, forge.MaxReviews+1)
	if err == nil {
		err = forge.TooManyReviews(len(history), r.Of.String())
	}
	if err != nil {
		return nil, err
	}
	var decided []forge.Review
	for _, who := range p.Participants {
		v := forge.Review{Login: who.User.login(), Account: who.User.account(), Decision: decisions[who.State], URL: p.Links.HTML.Href}
		if v.Decision == "" {
			continue
		}
		at, head := reviewed(history, who.User, v.Decision)
		v.At = at
		if at.IsZero() || head.Commit.Hash == "" {
			v.Unknown = "the history of the pull request does not tell when it was decided"
		} else if v.Commit, err = r.whole(ctx, head); err != nil {
			return nil, err
		}
		decided = append(decided, v)
	}
	return forge.LastReviews(decided), nil
}

// reviewed returns when an account last decided something, and the head that the pull request had then. history is the newest first.
func reviewed(history []activity, by user, d forge.ReviewDecision) (at time.Time, head end) {
	for _, a := range history {
		made := a.Approval
		if d == forge.ChangesRequested {
			made = a.ChangesRequested
		}
		if made != nil && made.User.account() == by.account() && made.Date.After(at) {
			at = made.Date
		}
	}
	var since time.Time
	for _, a := range history {
		if a.Update != nil && !a.Update.Date.After(at) && a.Update.Date.After(since) && a.Update.Source.Commit.Hash != "" {
			since, head = a.Update.Date, a.Update.Source
		}
	}
	return at, head
}
