package bitbucket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// build is a status as the API describes it.
type build struct {
	Key         string    `json:"key"`
	Name        string    `json:"name"`
	State       string    `json:"state"`
	URL         string    `json:"url"`
	Description string    `json:"description"`
	UpdatedOn   time.Time `json:"updated_on"`
}

// The states of builds.
var (
	buildStates = map[forge.StatusState]string{
		forge.Pending: "INPROGRESS", forge.Success: "SUCCESSFUL", forge.Failure: "FAILED", forge.Errored: "STOPPED",
	}
	statusStates = map[string]forge.StatusState{
		"INPROGRESS": forge.Pending, "SUCCESSFUL": forge.Success, "FAILED": forge.Failure, "STOPPED": forge.Errored,
	}
)

// longestKey limits the key of a build. The name of a longer context is its name.
const longestKey = 40

func keyOf(name string) string {
	if len(name) <= longestKey {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])[:longestKey]
}

// SetStatus posts a status for a commit. Posting twice has no effect, so the request is retried. A build must have a URL: without one it is
// that of the commit.
func (r *Repository) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	url := s.URL
	if url == "" {
		url = r.commitURL(commit)
	}
	return r.Do(ctx, rest.Request{
		Op: "set status", Right: writeRepository, Method: http.MethodPost, Path: rest.Path("commit", commit, "statuses", "build"), Repeatable: true,
		In: map[string]any{
			"key": keyOf(s.Context), "name": s.Context, "state": buildStates[s.State], "url": url,
			"description": forge.OneLine(s.Description, r.forge.Limits().StatusDescription),
		},
	})
}

// Statuses reads the latest status of each context.
func (r *Repository) Statuses(ctx context.Context, commit string) ([]forge.Status, error) {
	request := list(rest.Request{Op: "read statuses", Right: readRepository, Path: rest.Path("commit", commit, "statuses")})
	all, err := rest.Select(ctx, &r.Repository, request, func(b build) forge.Status {
		s := forge.Status{Context: b.Key, State: statusStates[b.State], Description: b.Description, URL: b.URL, Time: b.UpdatedOn}
		if len(b.Name) > longestKey && keyOf(b.Name) == b.Key {
			s.Context = b.Name
		}
		if s.URL == r.commitURL(commit) {
			s.URL = ""
		}
		return s
	}, nil, 0)
	return forge.LatestStatuses(all), err
}

func (r *Repository) commitURL(commit string) string {
	return r.forge.site.URL() + "/" + r.Of.Path + rest.Path("commits", commit)
}
