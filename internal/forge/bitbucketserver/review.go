package bitbucketserver

import (
	"context"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// decisions are what reviewers decided, by the action of an activity.
var decisions = map[string]forge.ReviewDecision{
	"APPROVED": forge.Approved, "REVIEWED": forge.ChangesRequested, "UNAPPROVED": forge.Withdrawn,
}

// Reviews reads the decisions about a pull request from its history, which tells which head it had then: RESCOPED is an entry for each push.
func (r *Repository) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	p, err := r.pull(ctx, number)
	if err != nil {
		return nil, err
	}
	var decided []forge.Review
	entries, head := 0, p.From.Commit
	err = r.activities(ctx, number, func(a activity) bool {
		entries++
		if a.Action == "RESCOPED" && a.Previous != "" {
			head = a.Previous // of everything that is older
		}
		if decision := decisions[a.Action]; decision != "" {
			v := forge.Review{
				Login: a.User.Name, Account: a.User.account(), Decision: decision, Commit: head, At: a.CreatedDate.time(),
				URL: r.selfURL() + "/pull-requests/" + strconv.Itoa(number),
			}
			decided = append([]forge.Review{v}, decided...)
		}
		return entries <= forge.MaxReviews
	})
	if err == nil {
		err = forge.TooManyReviews(entries, r.Of.String())
	}
	if err != nil {
		return nil, err
	}
	return forge.LastReviews(decided), nil
}
