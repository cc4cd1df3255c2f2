package azuredevopstest

import (
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// Published is what the forge's API description says of the requests that the adapter sends.
//
//go:embed published.txt
var Published string

// Server is an Azure DevOps in memory.
type Server struct {
	*forgetest.Server

	repos         map[*forgetest.Repo]*repository
	items         []*workItem
	subscriptions []*subscription
	counter       int
}

// repository is the state of a repository that [forgetest.Repo] lacks.
type repository struct {
	policies []map[string]any
	// statuses holds each pull request's statuses, by context.
	statuses map[*forgetest.PullRequest]map[string]postedStatus
	// queued holds merges that run in the background later, auto those that wait for policies.
	queued map[*forgetest.PullRequest]*merge
	auto   map[*forgetest.PullRequest]merge
}

// postedStatus is the status of a pull request, and the head it applies to.
type postedStatus struct{ state, head string }

type merge struct {
	actor, head string
	reads       int
}

// New starts an Azure DevOps, and stops it when the test ends.
func New(t *testing.T) *Server {
	s := &Server{repos: map[*forgetest.Repo]*repository{}}
	s.Server = forgetest.Start(t, forgetest.Dialect{
		Token: token, Refuse: refuse, Published: Published,
		Repository: func(r *http.Request) string {
			if r.PathValue("repository") == "" {
				return ""
			}
			return path.Join(r.PathValue("organization"), r.PathValue("project"), r.PathValue("repository"))
		},
		Page: func(of string) string { return path.Join(path.Dir(of), "_git", path.Base(of)) },
	}, s.deliver)
	for prefix, routes := range map[string]map[string]func(*call){
		"/{organization}": routes, "/{organization}/{project}/_apis/git/repositories/{repository}": repositoryRoutes,
	} {
		for pattern, serve := range routes {
			method, path, _ := strings.Cut(pattern, " ")
			s.route(method+" "+prefix+path, serve)
		}
	}
	return s
}

// routes are the requests about organizations and projects that the fake serves.
var routes = map[string]func(*call){
	"GET /_apis/connectionData":                              (*call).connectionData,
	"GET /_apis/hooks/subscriptions":                         (*call).listSubscriptions,
	"POST /_apis/hooks/subscriptions":                        (*call).subscribe,
	"PUT /_apis/hooks/subscriptions/{subscription}":          (*call).resubscribe,
	"POST /{project}/_apis/git/repositories":                 (*call).createRepository,
	"GET /{project}/_apis/wit/workitemtypes/{type}/states":   (*call).listStates,
	"POST /{project}/_apis/wit/wiql":                         (*call).query,
	"POST /{project}/_apis/wit/workitemsbatch":               (*call).readItems,
	"GET /{project}/_apis/wit/workitems/{item}":              (*call).readItem,
	"POST /{project}/_apis/wit/workitems/{type}":             (*call).createItem,
	"PATCH /{project}/_apis/wit/workitems/{item}":            (*call).editItem,
	"GET /{project}/_apis/git/policy/configurations":         (*call).listPolicies,
	"POST /{project}/_apis/policy/configurations":            (*call).createPolicy,
	"DELETE /{project}/_apis/policy/configurations/{policy}": (*call).deletePolicy,
}

// repositoryRoutes are the requests about repositories that the fake serves.
var repositoryRoutes = map[string]func(*call){
	"GET /pullrequests":                                         (*call).listPulls,
	"POST /pullrequests":                                        (*call).openPull,
	"GET /pullrequests/{pull}":                                  (*call).readPull,
	"PATCH /pullrequests/{pull}":                                (*call).editPull,
	"GET /pullrequests/{pull}/iterations":                       (*call).listIterations,
	"POST /pullrequests/{pull}/iterations/{iteration}/statuses": (*call).setPullStatus,
	"GET /pullrequests/{pull}/labels":                           (*call).listLabels,
	"POST /pullrequests/{pull}/labels":                          (*call).addLabel,
	"DELETE /pullrequests/{pull}/labels/{label}":                (*call).removeLabel,
	"GET ":                              (*call).readRepository,
	"GET /refs":                         (*call).listRefs,
	"POST /refs":                        (*call).moveRefs,
	"GET /pullrequests/{pull}/threads":  (*call).listThreads,
	"POST /pullrequests/{pull}/threads": (*call).createThread,
	"PATCH /pullrequests/{pull}/threads/{comment}/comments/1": (*call).editComment,
	"DELETE /pullrequests/{pull}/threads/{note}/comments/1":   (*call).deleteComment,
	"POST /commits/{commit}/statuses":                         (*call).setStatus,
	"GET /commits/{commit}/statuses":                          (*call).listStatuses,
}

// token returns the password of Basic authentication, or a bearer token.
func token(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	return forgetest.Bearer(r)
}

// refuse answers a request that cannot be served.
func refuse(c *forgetest.Call, r forgetest.Refusal) {
	no := &call{Call: c}
	switch r {
	case forgetest.UnknownToken:
		forgetest.Answer(http.StatusNonAuthoritativeInfo, "<html>Sign in</html>", "Content-Type", "text/html; charset=utf-8")(c.Out, c.Request)
	case forgetest.ReadOnly:
		no.refuse(http.StatusForbidden, "GitNeedsPermissionException", "TF401027: You need the Git 'PullRequestContribute' permission to perform this action.")
	case forgetest.NoRepository:
		no.refuse(http.StatusNotFound, "GitRepositoryNotFoundException", "TF401019: The Git repository with name or identifier "+
			c.PathValue("repository")+" does not exist or you do not have permissions for the operation you are attempting.")
	case forgetest.NoPullRequest:
		no.refuse(http.StatusNotFound, "GitPullRequestNotFoundException", "TF401180: The requested pull request was not found.")
	default:
		no.refuse(http.StatusNotFound, "DiscussionThreadNotFoundException", "The thread was not found.")
	}
}

// call is a request to the fake.
type call struct {
	*forgetest.Call
	*Server
	more *repository
}

// route serves requests that specify an API version.
func (s *Server) route(pattern string, serve func(c *call)) {
	s.Route(pattern, func(plain *forgetest.Call) {
		c := &call{Call: plain, Server: s}
		if plain.Repo != nil {
			c.more = s.extra(plain.Repo)
		}
		if !c.Request.URL.Query().Has("api-version") {
			c.refuse(http.StatusBadRequest, "VssVersionNotSpecifiedException", "No api-version was supplied for the request.")
			return
		}
		serve(c)
	})
}

func (s *Server) extra(repo *forgetest.Repo) *repository {
	if s.repos[repo] == nil {
		s.repos[repo] = &repository{
			statuses: map[*forgetest.PullRequest]map[string]postedStatus{},
			queued:   map[*forgetest.PullRequest]*merge{}, auto: map[*forgetest.PullRequest]merge{},
		}
	}
	return s.repos[repo]
}

// next returns a unique number.
func (s *Server) next() int { s.counter++; return s.counter }

// guid returns an id for a number.
func guid(kind, n int) string { return fmt.Sprintf("%08d-0000-4000-8000-%012d", kind, n) }

// account returns an identity as the API describes it. It returns nil for an empty name.
func account(name string) any {
	if name == "" {
		return nil
	}
	return map[string]any{"id": "id-of-" + name, "displayName": strings.ToUpper(name), "uniqueName": name + "@example.com"}
}

// refuse answers with an error.
func (c *call) refuse(status int, key, message string) {
	c.JSON(status, map[string]any{
		"$id": "1", "innerException": nil, "message": message, "typeName": "Microsoft.TeamFoundation.Git.Server." + key,
		"typeKey": key, "errorCode": 0, "eventId": 3000,
	})
}

// no answers with the error of a rule.
func (c *call) no(err error) {
	var e *forge.Error
	if errors.As(err, &e) && errors.Is(e.Kind, forge.ErrConflict) {
		c.refuse(http.StatusConflict, "GitPullRequestExistsException", "TF401179: "+e.Detail)
		return
	}
	c.refuse(http.StatusBadRequest, "InvalidArgumentValueException", err.Error())
}

func (c *call) list(all []map[string]any) {
	c.JSON(http.StatusOK, map[string]any{"count": len(all), "value": append([]map[string]any{}, all...)})
}

// part returns the page of a list that top and skip select.
func (c *call) part(all []map[string]any, dollar string) {
	query := c.Request.URL.Query()
	top, err := strconv.Atoi(query.Get(dollar + "top"))
	if err != nil {
		top = 101
	}
	skip, _ := strconv.Atoi(query.Get(dollar + "skip"))
	from := min(max(skip, 0), len(all))
	c.list(all[from:min(from+min(top, 1000), len(all))])
}
