package github

import (
	"context"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// review is a review of a pull request.
type review struct {
	User        user      `json:"user"`
	State       string    `json:"state"`
	CommitID    string    `json:"commit_id"`
	SubmittedAt time.Time `json:"submitted_at"`
	HTMLURL     string    `json:"html_url"`
}

// Reviews reads the reviews of a pull request. A review names the commit that was its head, and keeps it when others are pushed.
// https://docs.github.com/rest/pulls/reviews
func (r *Repository) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	all, err := rest.Select(ctx, &r.Repository, readReviews.read(rest.Path("pulls", number, "reviews"), nil), reviewOf, nil, forge.MaxReviews+1)
	if err == nil {
		err = forge.TooManyReviews(len(all), r.Of.String())
	}
	if err != nil {
		return nil, err
	}
	decided := all[:0]
	for _, v := range all {
		if v.Decision != "" {
			decided = append(decided, v)
		}
	}
	return forge.LastReviews(decided), nil
}

// decisions are the states of reviews that decide. The others are COMMENTED, and PENDING for a review that is not submitted.
var decisions = map[string]forge.ReviewDecision{
	"APPROVED": forge.Approved, "CHANGES_REQUESTED": forge.ChangesRequested, "DISMISSED": forge.Withdrawn,
}

func reviewOf(v review) forge.Review {
	return forge.Review{
		Login: v.User.Login, Account: account(v.User), Decision: decisions[v.State], Commit: v.CommitID, At: v.SubmittedAt, URL: v.HTMLURL,
	}
}

// account returns the ID of an account; empty if it was deleted.
func account(u user) string {
	if u.ID > 0 {
		return strconv.FormatInt(u.ID, 10)
	}
	return ""
}
