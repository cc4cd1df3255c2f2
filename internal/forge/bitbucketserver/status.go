package bitbucketserver

import (
	"context"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// build is a status as the API describes it.
type build struct {
	Key         string `json:"key"`
	State       string `json:"state"`
	URL         string `json:"url"`
	Description string `json:"description"`
	UpdatedDate millis `json:"updatedDate"`
	DateAdded   millis `json:"dateAdded"`
	Project     string `json:"projectKey"`
	Repository  string `json:"repositorySlug"`
}

// The states of builds. One that is unknown has neither succeeded nor ended.
var (
	buildStates = map[forge.StatusState]string{
		forge.Pending: "INPROGRESS", forge.Success: "SUCCESSFUL", forge.Failure: "FAILED", forge.Errored: "CANCELLED",
	}
	statusStates = map[string]forge.StatusState{
		"INPROGRESS": forge.Pending, "SUCCESSFUL": forge.Success, "FAILED": forge.Failure, "CANCELLED": forge.Errored, "UNKNOWN": forge.Pending,
	}
)

// SetStatus posts a status for a commit. Posting twice has no effect, so the request is retried. The key of a build is that of a required
// build as well. A build must have a URL: without one it is that of the commit.
func (r *Repository) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	url := s.URL
	if url == "" {
		url = r.commitURL(commit)
	}
	return r.Do(ctx, rest.Request{
		Op: "set status", Method: http.MethodPost, Path: rest.Path("commits", commit, "builds"), Repeatable: true,
		In: map[string]any{
			"key": s.Context, "name": s.Context, "parent": s.Context, "state": buildStates[s.State], "url": url,
			"description": forge.OneLine(s.Description, r.forge.Limits().StatusDescription),
		},
	})
}

// Statuses reads the latest status of each context, at most 100. Only this resource lists them. It has those of the same commit in other
// repositories, which are left out.
func (r *Repository) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	request := list(rest.Request{
		Op: "read statuses", Where: r.Of.String(), Right: readRepository, Path: "/build-status/1.0" + rest.Path("commits", commit), Query: r.Page,
	})
	var all []forge.Status
	err := rest.Pages(ctx, &r.forge.client, request, func(b build) bool {
		here := b.Repository == "" || strings.EqualFold(b.Project, r.project) && strings.EqualFold(b.Repository, r.name)
		if here {
			s := forge.Status{Context: b.Key, State: statusStates[b.State], Description: b.Description, URL: b.URL, Time: max(b.UpdatedDate, b.DateAdded).time()}
			if s.URL == r.commitURL(commit) {
				s.URL = ""
			}
			all = append([]forge.Status{s}, all...) // the newest first
		}
		return true
	})
	return forge.LatestStatuses(all), err
}

func (r *Repository) commitURL(commit string) string {
	return r.selfURL() + rest.Path("commits", commit)
}
