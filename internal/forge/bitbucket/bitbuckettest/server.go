package bitbuckettest

import (
	_ "embed"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucket"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Published is what the forge's API description says of the requests that the adapter sends.
//
//go:embed published.txt
var Published string

// Server is a Bitbucket Cloud in memory.
type Server struct {
	*forgetest.Server
	// DefaultReviewers are those of all repositories.
	DefaultReviewers []string
	// Strategies are those that repositories allow; empty means all.
	Strategies []string
	// Moved is called before each merge, as if a push came between reading and merging.
	Moved func(r *forgetest.Repo, c *forgetest.PullRequest)
	// Forgetful makes the history of pull requests end before the first update.
	Forgetful bool

	reviewers map[*forgetest.PullRequest][]string
	keys      map[string]string // of statuses, by name
}

// New starts a Bitbucket, and stops it when the test ends.
func New(t *testing.T) *Server {
	s := &Server{reviewers: map[*forgetest.PullRequest][]string{}, keys: map[string]string{}}
	s.Server = forgetest.Start(t, forgetest.Dialect{
		Token: token, Refuse: refuse, Published: Published,
		Repository: func(r *http.Request) string {
			if r.PathValue("repo") == "" {
				return ""
			}
			return r.PathValue("workspace") + "/" + r.PathValue("repo")
		},
	}, s.deliver)
	s.route("GET /2.0/user", func(c *call) { c.JSON(http.StatusOK, person(c.Actor)) })
	s.route("POST /2.0/repositories/{workspace}/{name}", (*call).create)
	for pattern, serve := range routes {
		method, path, _ := strings.Cut(pattern, " ")
		s.route(method+" /2.0/repositories/{workspace}/{repo}"+path, serve)
	}
	return s
}

// routes are the requests about repositories that the fake serves.
var routes = map[string]func(*call){
	"GET ":                                        (*call).read,
	"DELETE ":                                     (*call).remove,
	"GET /commit/{commit}":                        (*call).readCommit,
	"GET /commit/{commit}/statuses":               (*call).listStatuses,
	"POST /commit/{commit}/statuses/build":        (*call).setStatus,
	"GET /effective-default-reviewers":            (*call).listReviewers,
	"GET /pullrequests":                           (*call).listPulls,
	"POST /pullrequests":                          (*call).openPull,
	"GET /pullrequests/{pull}":                    (*call).readPull,
	"PUT /pullrequests/{pull}":                    (*call).editPull,
	"GET /pullrequests/{pull}/activity":           (*call).activity,
	"POST /pullrequests/{pull}/merge":             (*call).merge,
	"POST /pullrequests/{pull}/decline":           (*call).decline,
	"GET /pullrequests/{pull}/comments":           (*call).listComments,
	"POST /pullrequests/{pull}/comments":          (*call).addComment,
	"PUT /pullrequests/{pull}/comments/{comment}": (*call).editComment,
	"DELETE /pullrequests/{pull}/comments/{note}": (*call).deleteNote,
	"POST /refs/branches":                         (*call).createBranch,
	"GET /refs/branches/{branch}":                 (*call).readBranch,
	"DELETE /refs/branches/{branch}":              (*call).deleteBranch,
	"GET /hooks":                                  (*call).listHooks,
	"POST /hooks":                                 (*call).createHook,
	"PUT /hooks/{uid}":                            (*call).editHook,
}

// call is a request to the fake.
type call struct {
	*forgetest.Call
	*Server
}

func (s *Server) route(pattern string, serve func(c *call)) {
	s.Route(pattern, func(plain *forgetest.Call) { serve(&call{plain, s}) })
}

// token returns the password of an account, or an access token.
func token(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	return forgetest.Bearer(r)
}

// refuse answers a request that cannot be served.
func refuse(c *forgetest.Call, r forgetest.Refusal) {
	switch r {
	case forgetest.UnknownToken:
		fail(c, http.StatusUnauthorized, "Token is invalid, expired, or not supported for this endpoint.")
	case forgetest.ReadOnly:
		fail(c, http.StatusForbidden, "Your credentials lack one or more required privilege scopes.")
	default:
		fail(c, http.StatusNotFound, "Resource not found")
	}
}

func fail(c *forgetest.Call, status int, message string) {
	c.JSON(status, map[string]any{"type": "error", "error": map[string]any{"message": message}})
}

// say answers with the error of a rule, which is 400, or with a body.
func (c *call) say(err error, status int, body any) {
	var e *forge.Error
	if errors.As(err, &e) {
		fail(c.Call, http.StatusBadRequest, e.Detail)
		return
	}
	c.JSON(status, body)
}

// page answers with a page of a list, and links to the next.
func page[T any](c *call, all []T, shape func(T) map[string]any) {
	query := c.URL.Query()
	size, err := strconv.Atoi(query.Get("pagelen"))
	if err != nil {
		size = 10
	}
	if size > 50 {
		fail(c.Call, http.StatusBadRequest, "Invalid pagelen")
		return
	}
	number, _ := strconv.Atoi(query.Get("page"))
	number = max(number, 1)
	from, to := min((number-1)*size, len(all)), min(number*size, len(all))
	body := map[string]any{"pagelen": size, "page": number, "size": len(all), "values": forgetest.Shapes(all[from:to], shape)}
	if to < len(all) {
		query.Set("page", strconv.Itoa(number+1))
		// Only the query of a link counts: the address of the API can differ from the one that clients use.
		body["next"] = "https://elsewhere.example.com" + c.URL.Path + "?" + query.Encode()
	}
	c.JSON(http.StatusOK, body)
}

// Start starts a Bitbucket and returns a harness for it.
func Start(t *testing.T) (*Server, forgetest.Harness) {
	s := New(t)
	h := s.Harness("platform", func(token string, c transport.Config) forge.Forge { return s.Connect(t, "", token, c) })
	h.Undelivered = []forge.EventKind{forge.EventLabel}
	h.Fake.RateLimits = map[string]func(time.Duration) forgetest.Fault{"retry-after": func(wait time.Duration) forgetest.Fault {
		return forgetest.Fault{Answer: forgetest.Answer(http.StatusTooManyRequests, `{"type":"error","error":{"message":"Rate limit for this resource has been exceeded"}}`,
			"Retry-After", forgetest.Seconds(wait))}
	}}
	return s, h
}

// Connect returns an adapter to this server, with an access token, or with the API token of a user.
func (s *Server) Connect(t *testing.T, user, token string, c transport.Config) *bitbucket.Forge {
	t.Helper()
	f, err := bitbucket.New(bitbucket.Options{URL: s.URL, User: user, Token: forge.NewSecret(token), Transport: c})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func person(name string) map[string]any {
	return map[string]any{
		"type": "user", "uuid": uuid(name), "account_id": "557058:" + name, "nickname": "nick", "display_name": "The " + name,
	}
}

func uuid(name string) string { return "{" + strconv.Itoa(forgetest.AccountID(name)) + "}" }

func repository(path string) map[string]any {
	return map[string]any{"type": "repository", "full_name": path, "name": path[strings.LastIndexByte(path, '/')+1:], "scm": "git"}
}

func (c *call) repository() map[string]any {
	shape := repository(c.Repo.Path)
	shape["description"], shape["is_private"] = c.Repo.Description, c.Repo.Private
	return shape
}

func (c *call) create() {
	var in struct {
		Description string
		IsPrivate   bool `json:"is_private"`
	}
	c.Read(&in)
	if c.Repo = c.World.AddRepo(c.PathValue("workspace") + "/" + c.PathValue("name")); c.Repo == nil {
		fail(c.Call, http.StatusBadRequest, "Repository with this Slug and Owner already exists.")
		return
	}
	c.Repo.Description, c.Repo.Private = in.Description, in.IsPrivate
	c.JSON(http.StatusOK, c.repository())
}

func (c *call) read() { c.JSON(http.StatusOK, c.repository()) }

func (c *call) remove() {
	c.World.RemoveRepo(c.Repo)
	c.Out.WriteHeader(http.StatusNoContent)
}

// readCommit finds a commit by its beginning. Those of forks are only in the world of pull requests.
func (c *call) readCommit() {
	short := c.PathValue("commit")
	found := ""
	for _, path := range c.World.Paths() {
		r := c.World.Repo(path)
		for _, p := range r.PullRequests {
			for _, hash := range []string{p.Head.Commit, p.MergeCommit} {
				if hash != "" && strings.HasPrefix(hash, short) {
					found = hash
				}
			}
			for _, head := range p.Heads {
				if strings.HasPrefix(head.Commit, short) {
					found = head.Commit
				}
			}
		}
	}
	if found == "" {
		fail(c.Call, http.StatusNotFound, "Commit not found")
		return
	}
	c.JSON(http.StatusOK, map[string]any{"hash": found})
}

func (c *call) listReviewers() {
	page(c, c.DefaultReviewers, func(name string) map[string]any {
		return map[string]any{"type": "default_reviewer", "reviewer_type": "repository", "user": person(name)}
	})
}

// The states of builds.
var buildStates = map[string]forge.StatusState{
	"INPROGRESS": forge.Pending, "SUCCESSFUL": forge.Success, "FAILED": forge.Failure, "STOPPED": forge.Errored,
}

func (c *call) setStatus() {
	var in struct{ Key, Name, State, URL, Description string }
	c.Read(&in)
	at, err := url.Parse(in.URL)
	if len(in.Key) > 40 || err != nil || at.Scheme == "" {
		fail(c.Call, http.StatusBadRequest, "key is too long, or url is not one")
		return
	}
	s := forge.Status{Context: in.Name, State: buildStates[in.State], URL: in.URL, Description: in.Description}
	if c.Repo.SetStatus(c.Actor, c.PathValue("commit"), s) != nil {
		fail(c.Call, http.StatusNotFound, "Commit not found")
		return
	}
	c.keys[in.Name] = in.Key
	c.JSON(http.StatusCreated, status(s, in.Key))
}

func status(s forge.Status, key string) map[string]any {
	shape := map[string]any{
		"type": "build", "key": key, "name": s.Context, "url": s.URL, "description": s.Description, "updated_on": s.Time.Format(time.RFC3339Nano),
	}
	for name, state := range buildStates {
		if state == s.State {
			shape["state"] = name
		}
	}
	return shape
}

func (c *call) listStatuses() {
	page(c, forge.LatestStatuses(c.Repo.Statuses[c.PathValue("commit")]), func(s forge.Status) map[string]any { return status(s, c.keys[s.Context]) })
}

func (c *call) branch(name string) map[string]any {
	return map[string]any{"type": "branch", "name": name, "target": map[string]any{"hash": c.Repo.Branches[name]}}
}

func (c *call) createBranch() {
	var in struct {
		Name   string
		Target struct{ Hash string }
	}
	c.Read(&in)
	if c.Repo.Branches[in.Name] != "" {
		fail(c.Call, http.StatusBadRequest, "Branch \""+in.Name+"\" already exists.")
		return
	}
	c.Repo.Move(in.Name, in.Target.Hash, c.Actor)
	c.JSON(http.StatusCreated, c.branch(in.Name))
}

func (c *call) readBranch() { c.JSON(http.StatusOK, c.branch(c.PathValue("branch"))) }

func (c *call) deleteBranch() {
	c.Repo.Move(c.PathValue("branch"), "", c.Actor)
	c.Out.WriteHeader(http.StatusNoContent)
}

// Reviewers returns those of a pull request.
func (s *Server) Reviewers(url string, number int) (names []string) {
	s.World.Do(func() { names = s.reviewers[s.Repo(url).PullRequest(number)] })
	return names
}
