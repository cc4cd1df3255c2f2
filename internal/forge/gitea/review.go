package gitea

import (
	"context"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// decisions are the states of reviews that decide. The others are COMMENT, PENDING for a review that is not submitted, and
// REQUEST_REVIEW.
var decisions = map[string]forge.ReviewDecision{"APPROVED": forge.Approved, "REQUEST_CHANGES": forge.ChangesRequested}

// Reviews reads the reviews of a pull request. A review names the commit that was its head.
func (r *Repository) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	request := rest.Request{Op: "read reviews", Path: rest.Path("pulls", number, "reviews"), Next: unlinked}
	all, err := rest.Select(ctx, &r.Repository, request, func(v review) review { return v }, nil, forge.MaxReviews+1)
	if err == nil {
		err = forge.TooManyReviews(len(all), r.Of.String())
	}
	if err != nil {
		return nil, err
	}
	var decided []forge.Review
	for _, v := range all {
		decision := decisions[v.State]
		if decision == "" {
			continue
		}
		if v.Dismissed {
			decision = forge.Withdrawn
		}
		one := forge.Review{Login: v.User.Login, Decision: decision, Commit: v.Commit, At: v.SubmittedAt, URL: v.HTMLURL}
		if v.User.ID > 0 { // not that of a team, or of an account that was deleted
			one.Account = strconv.FormatInt(v.User.ID, 10)
		}
		decided = append(decided, one)
	}
	return forge.LastReviews(decided), nil
}

// account returns the ID of an account; empty if it was deleted.
func (u user) account() string {
	if u.ID <= 0 {
		return ""
	}
	return strconv.FormatInt(u.ID, 10)
}
