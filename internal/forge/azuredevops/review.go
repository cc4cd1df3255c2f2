package azuredevops

import (
	"context"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// vote is a reviewer with a vote: 10 approved, 5 approved with suggestions, 0 none, -5 waits for the author, -10 rejected.
// https://learn.microsoft.com/rest/api/azure/devops/git/pull-request-reviewers
type vote struct {
	identity
	Vote int `json:"vote"`
	// Container marks a group, which has the votes of its members.
	Container bool `json:"isContainer"`
}

// The votes. Others are between them.
const (
	approvedWithSuggestions = 5
	waitsForAuthor          = -5
)

// iteration is a head that a pull request had.
type iteration struct {
	ID   int       `json:"id"`
	Head commitRef `json:"sourceRefCommit"`
}

// Reviews reads the votes of a pull request. A vote names neither a time nor a commit. It is of the head if there never was another one,
// or if a policy of the base branch resets votes when commits are pushed. Otherwise it could be of an earlier commit.
func (r *Repository) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	p, err := r.pullRequest(ctx, number)
	if err == nil {
		err = forge.TooManyReviews(len(p.Reviewers), r.Of.String())
	}
	if err != nil {
		return nil, err
	}
	converted := r.convert(p)
	var all []forge.Review
	for _, v := range p.Reviewers {
		// A display name is not unique: an account without a unique name does not count.
		one := forge.Review{Login: v.UniqueName, Account: v.ID, URL: converted.URL}
		switch {
		case v.Container:
			continue
		case v.Vote >= approvedWithSuggestions:
			one.Decision = forge.Approved
		case v.Vote <= waitsForAuthor:
			one.Decision = forge.ChangesRequested
		default:
			continue
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return []forge.Review{}, nil
	}
	commit, unknown, err := r.votedOn(ctx, number, converted)
	for i := range all {
		all[i].Commit, all[i].Unknown = commit, unknown
	}
	return forge.LastReviews(all), err
}

// votedOn returns the commit that all votes of a pull request are of, or why that is not known.
func (r *Repository) votedOn(ctx context.Context, number int, p forge.PullRequest) (commit, unknown string, err error) {
	iterations, err := r.iterations(ctx, number)
	if err != nil {
		return "", "", err
	}
	if len(iterations) == 0 || iterations[len(iterations)-1].Head.ID != p.Head.Commit {
		return "", "Azure DevOps does not tell which commit was voted on", nil
	}
	if len(iterations) == 1 {
		return p.Head.Commit, "", nil
	}
	ids, err := r.ids(ctx)
	if err != nil {
		return "", "", err
	}
	policies, err := r.policies(ctx, ids, p.Base.Branch)
	if err != nil {
		return "", "", err
	}
	resets := func(p policy) bool { return p.Type.ID == reviewersPolicy && p.Settings.ResetOnPush }
	if !slices.ContainsFunc(policies, resets) {
		return "", "commits were pushed to the pull request, and Azure DevOps does not tell which one was voted on; " +
			"let a policy of the branch reset votes when commits are pushed", nil
	}
	return p.Head.Commit, "", nil
}

// iterations reads the heads that a pull request had, the oldest first.
func (r *Repository) iterations(ctx context.Context, number int) ([]iteration, error) {
	var all values[iteration]
	err := r.do(ctx, rest.Request{Op: "read iterations", Path: pull(number, "iterations"), Out: &all})
	return all.Value, err
}
