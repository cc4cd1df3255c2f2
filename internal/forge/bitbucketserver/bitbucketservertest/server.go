package bitbucketservertest

import (
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucketserver"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Published is what the forge's API description says of the requests that the adapter sends.
//
//go:embed published.txt
var Published string

// Server is a Bitbucket Data Center in memory.
type Server struct {
	*forgetest.Server
	// DefaultReviewers are added to new pull requests by clients that ask for them.
	DefaultReviewers []string
	// Strategies are those that repositories allow; empty means all.
	Strategies []string
	// Moved is called before each merge, as if a push came between reading and merging.
	Moved func(r *forgetest.Repo, c *forgetest.PullRequest)

	reviewers map[*forgetest.PullRequest][]string
	versions  map[string]int // of comments
}

// New starts a Bitbucket, and stops it when the test ends.
func New(t *testing.T) *Server {
	s := &Server{reviewers: map[*forgetest.PullRequest][]string{}, versions: map[string]int{}}
	s.Server = forgetest.Start(t, forgetest.Dialect{
		Token: forgetest.Bearer, Refuse: refuse, Published: Published,
		Repository: func(r *http.Request) string {
			if r.PathValue("repo") == "" {
				return ""
			}
			return "scm/" + r.PathValue("project") + "/" + r.PathValue("repo")
		},
	}, s.deliver)
	for pattern, serve := range map[string]func(*call){
		"GET /rest/api/1.0/application-properties":                                  (*call).properties,
		"POST /rest/api/1.0/projects/{project}/repos":                               (*call).create,
		"GET /rest/build-status/1.0/commits/{commit}":                               (*call).listBuilds,
		"GET /rest/default-reviewers/1.0/projects/{project}/repos/{repo}/reviewers": (*call).listReviewers,
		"DELETE /rest/branch-utils/1.0/projects/{project}/repos/{repo}/branches":    (*call).deleteBranch,
	} {
		s.route(pattern, serve)
	}
	for pattern, serve := range repositoryRoutes {
		method, path, _ := strings.Cut(pattern, " ")
		s.route(method+" /rest/api/1.0/projects/{project}/repos/{repo}"+path, serve)
	}
	return s
}

// repositoryRoutes are the requests about repositories that the fake serves.
var repositoryRoutes = map[string]func(*call){
	"GET ":                                         (*call).read,
	"DELETE ":                                      (*call).remove,
	"GET /pull-requests":                           (*call).listPulls,
	"POST /pull-requests":                          (*call).openPull,
	"GET /pull-requests/{pull}":                    (*call).readPull,
	"PUT /pull-requests/{pull}":                    (*call).editPull,
	"GET /pull-requests/{pull}/merge":              (*call).tryMerge,
	"POST /pull-requests/{pull}/merge":             (*call).merge,
	"POST /pull-requests/{pull}/decline":           (*call).decline,
	"POST /pull-requests/{pull}/reopen":            (*call).reopen,
	"GET /pull-requests/{pull}/activities":         (*call).activities,
	"POST /pull-requests/{pull}/comments":          (*call).comment,
	"GET /pull-requests/{pull}/comments/{remark}":  (*call).readComment,
	"PUT /pull-requests/{pull}/comments/{comment}": (*call).editComment,
	"DELETE /pull-requests/{pull}/comments/{note}": (*call).deleteNote,
	"POST /commits/{commit}/builds":                (*call).setBuild,
	"GET /branches":                                (*call).listBranches,
	"POST /branches":                               (*call).createBranch,
	"GET /webhooks":                                (*call).listHooks,
	"POST /webhooks":                               (*call).createHook,
	"PUT /webhooks/{hook}":                         (*call).editHook,
}

// call is a request to the fake.
type call struct {
	*forgetest.Call
	*Server
}

// accountHeader names the account of a request.
const accountHeader = "X-AUSERNAME"

func (s *Server) route(pattern string, serve func(c *call)) {
	s.Route(pattern, func(plain *forgetest.Call) {
		plain.Out.Header().Set(accountHeader, plain.Actor)
		serve(&call{Call: plain, Server: s})
	})
}

// refuse answers a request that cannot be served. A missing permission is 401, like an unknown token.
func refuse(c *forgetest.Call, r forgetest.Refusal) {
	if c.Actor != "" {
		c.Out.Header().Set(accountHeader, c.Actor)
	}
	switch r {
	case forgetest.UnknownToken:
		fail(c, http.StatusUnauthorized, "AuthenticationException", "Authentication failed. Please check your credentials and try again.")
	case forgetest.ReadOnly:
		fail(c, http.StatusUnauthorized, "AuthorisationException", "You are not permitted to access this resource")
	default:
		fail(c, http.StatusNotFound, "NoSuchObjectException", string(r)+" does not exist.")
	}
}

func fail(c *forgetest.Call, status int, exception, message string) {
	c.JSON(status, map[string]any{"errors": []map[string]any{{
		"context": nil, "message": message, "exceptionName": "com.atlassian.bitbucket." + exception,
	}}})
}

// say answers with the error of a rule; a nil error with a body.
func (c *call) say(err error, status int, body any) {
	var e *forge.Error
	switch {
	case err == nil:
		c.JSON(status, body)
	case errors.As(err, &e) && errors.Is(err, forge.ErrConflict):
		fail(c.Call, http.StatusConflict, "IllegalStateException", e.Detail)
	case errors.As(err, &e):
		fail(c.Call, http.StatusBadRequest, "ArgumentValidationException", e.Detail)
	}
}

// page answers with a page of a list.
func page[T any](c *call, all []T, shape func(T) map[string]any) {
	query := c.URL.Query()
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		limit = 25
	}
	const most = 40
	limit = min(max(limit, 1), most)
	start, _ := strconv.Atoi(query.Get("start"))
	from, to := min(max(start, 0), len(all)), min(max(start, 0)+limit, len(all))
	body := map[string]any{
		"size": to - from, "limit": limit, "start": from, "isLastPage": to == len(all), "values": forgetest.Shapes(all[from:to], shape),
	}
	if to < len(all) {
		body["nextPageStart"] = to
	}
	c.JSON(http.StatusOK, body)
}

// Start starts a Bitbucket and returns a harness for it.
func Start(t *testing.T) (*Server, forgetest.Harness) {
	s := New(t)
	h := s.Harness("scm/platform", func(token string, c transport.Config) forge.Forge { return s.Connect(t, token, c) })
	h.MostStatuses = mostBuilds
	h.Undelivered = []forge.EventKind{forge.EventStatus, forge.EventLabel}
	h.Fake.RateLimits = map[string]func(time.Duration) forgetest.Fault{"retry-after": forgetest.TooManyRequests}
	return s, h
}

// Connect returns an adapter to this server.
func (s *Server) Connect(t *testing.T, token string, c transport.Config) *bitbucketserver.Forge {
	t.Helper()
	f, err := bitbucketserver.New(bitbucketserver.Options{URL: s.URL, Token: forge.NewSecret(token), Transport: c})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func person(name string) map[string]any {
	return map[string]any{"id": forgetest.AccountID(name), "name": name, "slug": name, "displayName": "The " + name, "active": true, "type": "NORMAL"}
}

// place returns the reference to a repository, from its path scm/project/name.
func place(path string) map[string]any {
	parts := strings.Split(path, "/")
	return map[string]any{"slug": parts[2], "name": parts[2], "project": map[string]any{"key": strings.ToUpper(parts[1])}}
}

func (c *call) repository(r *forgetest.Repo) map[string]any {
	shape := place(r.Path)
	shape["id"], shape["description"], shape["public"] = r.ID, r.Description, !r.Private
	return shape
}

func (c *call) properties() {
	c.JSON(http.StatusOK, map[string]any{"version": "9.4.0", "buildNumber": "9004000", "displayName": "Bitbucket"})
}

func (c *call) create() {
	var in struct {
		Name, Description, DefaultBranch string
		Public                           bool
	}
	c.Read(&in)
	r := c.World.AddRepo("scm/" + c.PathValue("project") + "/" + in.Name)
	if r == nil {
		fail(c.Call, http.StatusConflict, "DuplicateRepositoryException", "This repository URL is already taken by '"+in.Name+"'.")
		return
	}
	r.Description, r.DefaultBranch, r.Private = in.Description, in.DefaultBranch, !in.Public
	c.JSON(http.StatusCreated, c.repository(r))
}

func (c *call) read() { c.JSON(http.StatusOK, c.repository(c.Repo)) }

func (c *call) remove() {
	c.World.RemoveRepo(c.Repo)
	c.JSON(http.StatusAccepted, map[string]any{"context": nil, "message": "Repository scheduled for deletion."})
}

func (c *call) listReviewers() {
	all := []map[string]any{}
	for _, name := range c.DefaultReviewers {
		all = append(all, person(name))
	}
	c.JSON(http.StatusOK, all)
}

// The states of builds.
var buildStates = map[string]forge.StatusState{
	"INPROGRESS": forge.Pending, "SUCCESSFUL": forge.Success, "FAILED": forge.Failure, "CANCELLED": forge.Errored,
}

// mostBuilds is how many builds of a commit are listed.
const mostBuilds = 100

func (c *call) setBuild() {
	var in struct{ Key, State, URL, Description string }
	c.Read(&in)
	if in.Key == "" || in.URL == "" || len([]rune(in.Description)) > 255 {
		fail(c.Call, http.StatusBadRequest, "ArgumentValidationException", "key and url are required, and texts are limited to 255 characters")
		return
	}
	err := c.Repo.SetStatus(c.Actor, c.PathValue("commit"), forge.Status{
		Context: in.Key, State: buildStates[in.State], URL: in.URL, Description: in.Description,
	})
	if err != nil {
		fail(c.Call, http.StatusNotFound, "NoSuchCommitException", "Commit does not exist.")
		return
	}
	c.Out.WriteHeader(http.StatusNoContent)
}

// listBuilds lists the builds of a commit in all repositories, the newest first.
func (c *call) listBuilds() {
	all := []map[string]any{}
	for _, path := range c.World.Paths() {
		latest := forge.LatestStatuses(c.World.Repo(path).Statuses[c.PathValue("commit")])
		parts := strings.Split(path, "/")
		for _, s := range latest {
			shape := map[string]any{
				"key": s.Context, "name": s.Context, "url": s.URL, "description": s.Description, "updatedDate": s.Time.UnixMilli(),
				"projectKey": strings.ToUpper(parts[1]), "repositorySlug": parts[2],
			}
			for name, state := range buildStates {
				if state == s.State {
					shape["state"] = name
				}
			}
			all = append(all, shape)
		}
	}
	page(c, all[:min(len(all), mostBuilds)], func(m map[string]any) map[string]any { return m })
}

func (c *call) branch(name string) map[string]any {
	return map[string]any{"id": heads + name, "displayId": name, "latestCommit": c.Repo.Branches[name], "type": "BRANCH"}
}

const heads = "refs/heads/"

func (c *call) listBranches() {
	var names []string
	for _, name := range c.Repo.BranchNames() {
		if strings.Contains(name, c.URL.Query().Get("filterText")) {
			names = append(names, name)
		}
	}
	page(c, names, c.branch)
}

func (c *call) createBranch() {
	var in struct{ Name, StartPoint string }
	c.Read(&in)
	if c.Repo.Branches[in.Name] != "" {
		fail(c.Call, http.StatusConflict, "DuplicateRefException", fmt.Sprintf("Branch '%s' already exists.", in.Name))
		return
	}
	c.Repo.Move(in.Name, in.StartPoint, c.Actor)
	c.JSON(http.StatusOK, c.branch(in.Name))
}

func (c *call) deleteBranch() {
	var in struct{ Name string }
	c.Read(&in)
	if name := strings.TrimPrefix(in.Name, heads); c.Repo.Branches[name] != "" {
		c.Repo.Move(name, "", c.Actor)
	}
	c.Out.WriteHeader(http.StatusNoContent)
}

// Reviewers returns those of a pull request.
func (s *Server) Reviewers(url string, number int) (names []string) {
	s.World.Do(func() { names = s.reviewers[s.Repo(url).PullRequest(number)] })
	return names
}
