package sample

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Paths on the server that belong to a sample.
const (
	// Root is where simulated clusters serve their applications: Root/{cluster}/{namespace}.
	Root = "/sample"
	// ControlRoot is where [Control] is served.
	ControlRoot = Root + "/control"
)

// Control lets commands control the process that runs a sample.
type Control struct {
	// Simulation has the clusters. // required
	Simulation *simulate.Simulation
	// Forge returns the forge as a member of a team sees it. // required
	Forge func(Team) forge.Forge
	// Repositories of the sample. // required
	Repositories []Repository
	// Token authenticates commands. // required
	Token secret.Value
	// Stop ends the process. // required
	Stop func()
}

// Pull is an open pull request.
type Pull struct {
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	Number     int    `json:"number"`
	Title      string `json:"title"`
	URL        string `json:"url"`
}

// MergeRequest selects the pull request to a branch of a repository.
type MergeRequest struct {
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
}

// Merged is a merged pull request.
type Merged struct {
	Pull
	By     string `json:"by"`
	Commit string `json:"commit"`
}

// Errors of merging. Match with errors.Is.
var (
	errUnknownRepository = errors.New("the sample has no such repository")
	errNoPull            = errors.New("no pull request is open")
)

const maxRequest = 16 << 10

// Handler serves [ControlRoot], which needs the token, and the applications below [Root], which do not.
//
//	GET  /sample/control/api/v1/pulls     []Pull
//	POST /sample/control/api/v1/merge     MergeRequest, answered with Merged
//	GET  /sample/control/api/v1/greetings/{cluster}   []simulation.Greeting
//	POST /sample/control/api/v1/stop
//	     /sample/control/api/v1/...       see simulation.Simulation.Handler
//	GET  /sample/{cluster}/{namespace}    see simulation.Simulation.Applications
func (c *Control) Handler() http.Handler {
	api := http.NewServeMux()
	api.Handle("/", c.Simulation.Handler(c.Token))
	handle := func(pattern string, do func(*http.Request) (any, error)) {
		api.Handle(pattern, simulate.WithToken(c.Token, answering(do)))
	}
	handle("GET /api/v1/pulls", func(r *http.Request) (any, error) { return c.pulls(r.Context()) })
	handle("POST /api/v1/merge", c.merge)
	handle("GET /api/v1/greetings/{cluster}", c.greetings)
	handle("POST /api/v1/stop", func(*http.Request) (any, error) { c.Stop(); return struct{}{}, nil })
	mux := http.NewServeMux()
	mux.Handle(ControlRoot+"/", http.StripPrefix(ControlRoot, api))
	mux.Handle(Root+"/", http.StripPrefix(Root, c.Simulation.Applications()))
	return mux
}

// pulls returns all open pull requests, in the order of the repositories.
func (c *Control) pulls(ctx context.Context) ([]Pull, error) {
	all := []Pull{}
	for _, r := range c.Repositories {
		found, err := c.open(ctx, r, "")
		if err != nil {
			return nil, err
		}
		for _, change := range found {
			all = append(all, pull(r, change))
		}
	}
	return all, nil
}

func pull(r Repository, c forge.PullRequest) Pull {
	return Pull{Repository: r.Name, Branch: c.Base.Branch, Number: c.Number, Title: c.Title, URL: c.URL}
}

// open returns the open pull requests to a branch of a repository; an empty branch means all.
func (c *Control) open(ctx context.Context, r Repository, branch string) ([]forge.PullRequest, error) {
	on, err := c.Forge(r.Team).Repository(r.URL)
	if err != nil {
		return nil, err
	}
	return on.FindPullRequests(ctx, forge.PullRequestFilter{State: forge.Open, Base: branch})
}

// merge merges the one open pull request to a branch, as a member of the repository's team.
func (c *Control) merge(r *http.Request) (any, error) {
	var wanted MergeRequest
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		return nil, fmt.Errorf("invalid request: %w", err)
	}
	repository, err := c.repository(wanted.Repository)
	if err != nil {
		return nil, err
	}
	found, err := c.open(r.Context(), repository, wanted.Branch)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fmt.Errorf("%w to branch %q of %s", errNoPull, wanted.Branch, wanted.Repository)
	case len(found) > 1:
		return nil, fmt.Errorf("%d pull requests are open to branch %q of %s: merge them on their pages", len(found), wanted.Branch, wanted.Repository)
	}
	host := c.Forge(repository.Team)
	on, err := host.Repository(repository.URL)
	if err != nil {
		return nil, err
	}
	commit, err := on.MergePullRequest(r.Context(), found[0].Number, forge.Merge{Head: found[0].Head.Commit})
	return Merged{pull(repository, found[0]), account(r.Context(), host), commit}, err
}

func account(ctx context.Context, host forge.Forge) string {
	if viewer, ok := host.(forge.Viewer); ok {
		if name, err := viewer.Viewer(ctx); err == nil && name != "" {
			return name
		}
	}
	return "an unknown account"
}

func (c *Control) repository(name string) (Repository, error) {
	var names bytes.Buffer
	for _, r := range c.Repositories {
		if r.Name == name {
			return r, nil
		}
		fmt.Fprintf(&names, " %s", r.Name)
	}
	return Repository{}, fmt.Errorf("%w: %q; the sample has%s", errUnknownRepository, name, &names)
}

// answering answers with the result of a function, as JSON.
func answering(do func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
		status, contentType := http.StatusOK, "application/json"
		answer, err := do(r)
		if err != nil {
			status, contentType = statusOf(err), "application/problem+json"
			answer = map[string]any{"title": http.StatusText(status), "status": status, "detail": secret.Line(err.Error())}
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer) // the client may have disconnected
	})
}

// statusOf returns the HTTP status for an error. A conflict can be retried.
func statusOf(err error) int {
	switch {
	case errors.Is(err, errNoPull), errors.Is(err, forge.ErrConflict):
		return http.StatusConflict
	case errors.Is(err, errUnknownRepository), errors.Is(err, simulate.ErrUnknownCluster):
		return http.StatusNotFound
	}
	return http.StatusUnprocessableEntity
}
