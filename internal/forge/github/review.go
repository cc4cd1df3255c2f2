package github

import (
	"context"
	"strconv"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Reviews reads the reviews of a pull request. A review names the commit that was its head, and keeps it when others are pushed.
// https://docs.github.com/rest/pulls/reviews
func (r *Repository) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	options := perPage
	list := r.forge.client.PullRequests.ListReviewsIter(readReviews.on(ctx), r.owner, r.name, number, &options)
	all, err := collect(r, readReviews, list, reviewOf, nil, forge.MaxReviews+1)
	if err == nil {
		err = forge.TooManyReviews(len(all), r.id.String())
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

func reviewOf(v *github.PullRequestReview) forge.Review {
	review := forge.Review{
		Login: v.GetUser().GetLogin(), Decision: decisions[v.GetState()], Commit: v.GetCommitID(),
		At: v.GetSubmittedAt().Time, URL: v.GetHTMLURL(),
	}
	if id := v.GetUser().GetID(); id > 0 {
		review.Account = strconv.FormatInt(id, 10)
	}
	return review
}

// account returns the ID of an account; empty if it was deleted.
func account(u *github.User) string {
	if id := u.GetID(); id > 0 {
		return strconv.FormatInt(id, 10)
	}
	return ""
}
