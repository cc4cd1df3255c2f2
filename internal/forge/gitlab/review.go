package gitlab

import (
	"context"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// approvals are who approves a merge request now, and since when.
type approvals struct {
	By []struct {
		User       *user      `json:"user"`
		ApprovedAt *time.Time `json:"approved_at"`
	} `json:"approved_by"`
}

// reviewer is an account that was asked to review a merge request, with the state of its review.
type reviewer struct {
	User  *user  `json:"user"`
	State string `json:"state"`
}

// requestedChanges is the state of a reviewer who requested changes.
const requestedChanges = "requested_changes"

// version is a head that a merge request had, and since when.
type version struct {
	Head      string    `json:"head_commit_sha"`
	CreatedAt time.Time `json:"created_at"`
}

// Reviews reads the approvals of a merge request, and the requests for changes of its reviewers. GitLab tells when it was approved, not
// which commit: that is the head that the merge request had at that time, according to its versions.
// https://docs.gitlab.com/api/merge_request_approvals/, https://docs.gitlab.com/api/merge_requests/
func (r *Repository) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	path := rest.Path("merge_requests", number)
	var approved approvals
	if err := r.Do(ctx, rest.Request{Op: "read reviews", Path: path + "/approvals", Out: &approved}); err != nil {
		return nil, err
	}
	reviewers, err := rest.All[reviewer](ctx, &r.Repository, rest.Request{Op: "read reviews", Path: path + "/reviewers"})
	if err == nil {
		err = forge.TooManyReviews(len(approved.By)+len(reviewers), r.Of.String())
	}
	if err != nil {
		return nil, err
	}
	var versions []version
	if len(approved.By) > 0 {
		if versions, err = r.versions(ctx, path); err != nil {
			return nil, err
		}
	}
	page := r.forge.site.URL() + "/" + r.Of.Path + "/-/merge_requests/" + strconv.Itoa(number)
	var all []forge.Review
	for _, a := range approved.By {
		v := forge.Review{Login: a.User.name(), Account: a.User.id(), Decision: forge.Approved, URL: page, At: at(a.ApprovedAt)}
		v.Commit, v.Unknown = headAt(versions, v.At)
		all = append(all, v)
	}
	for _, a := range reviewers {
		if a.State == requestedChanges {
			all = append(all, forge.Review{
				Login: a.User.name(), Account: a.User.id(), Decision: forge.ChangesRequested, URL: page,
				Unknown: "GitLab does not tell for which commit changes were requested",
			})
		}
	}
	return forge.LastReviews(all), nil
}

// versions reads the heads of a merge request.
func (r *Repository) versions(ctx context.Context, path string) ([]version, error) {
	request := rest.Request{Op: "read versions", Path: path + "/versions"}
	all, err := rest.Select(ctx, &r.Repository, request, func(v version) version { return v }, nil, forge.MaxReviews+1)
	if err == nil {
		err = forge.TooManyReviews(len(all), r.Of.String())
	}
	return all, err
}

// headAt returns the head that a merge request had at a time, or why that is not known for certain. The versions can be in any order.
func headAt(versions []version, at time.Time) (commit, unknown string) {
	if at.IsZero() {
		return "", "this GitLab does not tell when it was approved, so that it could be of an earlier commit"
	}
	var last version
	for _, v := range versions {
		switch {
		case v.CreatedAt.Equal(at):
			return "", "it was approved at the time of a push, so that it could be of the commit before it"
		case v.CreatedAt.Before(at) && v.CreatedAt.After(last.CreatedAt):
			last = v
		}
	}
	if last.Head == "" {
		return "", "GitLab does not tell which head the merge request had when it was approved"
	}
	return last.Head, ""
}

// id returns an account's ID. Empty if the account was deleted.
func (u *user) id() string {
	if u == nil || u.ID <= 0 {
		return ""
	}
	return strconv.FormatInt(u.ID, 10)
}
