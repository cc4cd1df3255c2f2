package gitlabtest

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// Published is what the forge's API description says of the requests that the adapter sends.
//
//go:embed published.txt
var Published string

// Server is a GitLab in memory.
type Server struct {
	*forgetest.Server
	// Premium enables required approvals and code owners.
	Premium bool
	// Signing makes the fake sign deliveries, like GitLab 19 and later.
	Signing bool

	// Pipelines maps commits to their pipelines, as the API describes them. Statuses are in none of them.
	Pipelines map[string][]map[string]any

	// Untimed means that approvals have no time, like before GitLab 18.
	Untimed bool

	// Placed are the places of statuses, "pipeline ref", in the order in which they were set.
	Placed []string

	projects   map[*forgetest.Repo]*project
	namespaces []string
	counter    int
}

// project is the state of a project that [forgetest.Repo] lacks.
type project struct {
	protected map[string]*protectedBranch
	rules     []*approvalRule
	// pipelines requires that pipelines succeed, threads that threads are resolved.
	pipelines, threads bool
	// auto holds the merges that wait for a pipeline.
	auto map[*forgetest.PullRequest]autoMerge
	// signing holds the hooks' keys, by URL.
	signing map[string]string
}

type autoMerge struct {
	actor string
	merge forge.Merge
}

// New starts a GitLab, and stops it when the test ends.
func New(t *testing.T) *Server {
	s := &Server{Premium: true, Signing: true, projects: map[*forgetest.Repo]*project{}}
	s.Server = forgetest.Start(t, forgetest.Dialect{
		Token: token, Refuse: refuse, Published: Published, Repository: func(r *http.Request) string { return r.PathValue("project") },
	}, s.deliver)
	s.World.SharedNumbers = false
	for pattern, serve := range routes {
		method, path, _ := strings.Cut(pattern, " ")
		s.route(method+" /api/v4/projects/{project}"+path, serve)
	}
	s.route("GET /api/v4/user", func(c *call) { c.JSON(http.StatusOK, account(c.Actor)) })
	s.route("GET /api/v4/namespaces/{path}", func(c *call) {
		c.JSON(http.StatusOK, map[string]any{"id": s.namespace(c.PathValue("path")), "full_path": c.PathValue("path")})
	})
	s.route("POST /api/v4/projects", (*call).createProject)
	return s
}

// routes are the requests about projects that the fake serves.
var routes = map[string]func(*call){
	"GET /merge_requests":                              (*call).listMergeRequests,
	"POST /merge_requests":                             (*call).openMergeRequest,
	"GET /merge_requests/{pull}":                       (*call).readMergeRequest,
	"PUT /merge_requests/{pull}":                       (*call).editMergeRequest,
	"PUT /merge_requests/{pull}/merge":                 (*call).merge,
	"GET /merge_trains/merge_requests/{pull}":          (*call).readCar,
	"POST /merge_trains/merge_requests/{pull}":         (*call).addCar,
	"GET /merge_requests/{pull}/approvals":             (*call).readApprovals,
	"GET /merge_requests/{pull}/reviewers":             (*call).listReviewers,
	"GET /merge_requests/{pull}/versions":              (*call).listVersions,
	"GET /merge_requests/{pull}/resource_label_events": (*call).labelEvents,

	"GET ":    (*call).readProject,
	"PUT ":    (*call).editProject,
	"DELETE ": (*call).removeProject,

	"GET /repository/branches/{branch}":    (*call).readBranch,
	"POST /repository/branches":            (*call).createBranch,
	"DELETE /repository/branches/{branch}": (*call).deleteBranch,

	"GET /hooks":        (*call).listHooks,
	"POST /hooks":       (*call).createHook,
	"PUT /hooks/{hook}": (*call).editHook,

	"GET /merge_requests/{pull}/notes":           (*call).listNotes,
	"POST /merge_requests/{pull}/notes":          (*call).createNote,
	"PUT /merge_requests/{pull}/notes/{comment}": (*call).editNote,
	"DELETE /merge_requests/{pull}/notes/{note}": (*call).deleteNote,

	"POST /merge_requests/{pull}/discussions":       (*call).startDiscussion,
	"PUT /merge_requests/{pull}/discussions/{note}": (*call).resolveDiscussion,

	"GET /issues":         (*call).listIssues,
	"POST /issues":        (*call).openIssue,
	"PUT /issues/{issue}": (*call).editIssue,

	"GET /labels/{label}": (*call).readLabel,
	"POST /labels":        (*call).createLabel,

	"POST /statuses/{commit}":                         (*call).setStatus,
	"GET /repository/commits/{commit}/statuses":       (*call).listStatuses,
	"GET /repository/commits/{commit}/merge_requests": (*call).listMergeRequestsOf,

	"GET /pipelines": (*call).listPipelines,

	"GET /protected_branches/{name}":    (*call).readProtection,
	"POST /protected_branches":          (*call).protect,
	"DELETE /protected_branches/{name}": (*call).unprotect,

	"GET /approval_rules":        premium((*call).listRules),
	"POST /approval_rules":       premium((*call).createRule),
	"PUT /approval_rules/{rule}": premium((*call).editRule),
}

// token returns the token of a request, from one of three headers.
func token(r *http.Request) string {
	return cmp.Or(r.Header.Get("Job-Token"), forgetest.Bearer(r), r.Header.Get("Private-Token"))
}

// refuse answers a request that cannot be served.
func refuse(c *forgetest.Call, r forgetest.Refusal) {
	no := &call{Call: c}
	switch r {
	case forgetest.UnknownToken:
		no.say(http.StatusUnauthorized, "401 Unauthorized")
	case forgetest.ReadOnly:
		c.JSON(http.StatusForbidden, map[string]any{
			"error": "insufficient_scope", "scope": "api",
			"error_description": "The request requires higher privileges than provided by the access token.",
		})
	default:
		no.notFound(string(r))
	}
}

// call is a request to the fake.
type call struct {
	*forgetest.Call
	*Server
	project *project
	in      map[string]any
}

func (s *Server) route(pattern string, serve func(c *call)) {
	s.Route(pattern, func(plain *forgetest.Call) {
		c := &call{Call: plain, Server: s}
		if c.Call.Repo != nil {
			c.project = s.projectOf(c.Call.Repo)
		}
		if c.Method == http.MethodPost || c.Method == http.MethodPut {
			if err := json.NewDecoder(c.Body).Decode(&c.in); err != nil {
				c.JSON(http.StatusBadRequest, map[string]any{"error": "invalid JSON"})
				return
			}
		}
		serve(c)
	})
}

func (s *Server) projectOf(repo *forgetest.Repo) *project {
	if s.projects[repo] == nil {
		s.projects[repo] = &project{
			protected: map[string]*protectedBranch{}, auto: map[*forgetest.PullRequest]autoMerge{}, signing: map[string]string{},
		}
	}
	return s.projects[repo]
}

// next returns a unique number.
func (s *Server) next() int { s.counter++; return s.counter }

func (c *call) text(name string) string { text, _ := c.in[name].(string); return text }

func (c *call) has(name string) bool { _, ok := c.in[name]; return ok }

func (c *call) yes(name string) bool { yes, _ := c.in[name].(bool); return yes }

func (c *call) number(name string) int { n, _ := c.in[name].(float64); return int(n) }

func (c *call) words(name string) []string {
	return strings.FieldsFunc(c.text(name), func(r rune) bool { return r == ',' })
}

// refuse answers with the error of a rule, in GitLab's format.
func (c *call) refuse(err error) {
	var e *forge.Error
	status := http.StatusInternalServerError
	if errors.As(err, &e) {
		status = map[error]int{forge.ErrConflict: http.StatusConflict, forge.ErrInvalid: http.StatusBadRequest}[e.Kind]
		c.JSON(status, map[string]any{"message": []string{e.Detail}})
		return
	}
	c.say(status, "500 Internal Server Error")
}

func (c *call) notFound(what string) { c.say(http.StatusNotFound, "404 "+what+" Not Found") }

// say answers with a message, like most refusals.
func (c *call) say(status int, message string) { c.JSON(status, map[string]any{"message": message}) }

// pages answers with one page of a list.
func pages[T any](c *call, list []T) {
	c.JSON(http.StatusOK, forgetest.Page(c.Call, list, "per_page", 100))
}

// account returns a user as the API describes it. It returns nil for an empty name.
func account(name string) any {
	if name == "" {
		return nil
	}
	return map[string]any{"id": forgetest.AccountID(name), "username": name, "name": name, "state": "active"}
}
