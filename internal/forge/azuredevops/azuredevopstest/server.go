package azuredevopstest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// Server is an Azure DevOps.
type Server struct {
	// URL is where it is.
	URL    string
	World  *forgetest.World
	Faults *forgetest.Faults

	repos         map[*forgetest.Repo]*repository
	items         []*workItem
	subscriptions []*subscription
	counter       int
}

// repository is what a repository has beyond what all forges know.
type repository struct {
	policies []map[string]any
	// iterations are the heads that each pull request had.
	iterations map[*forgetest.PullRequest][]string
	// statuses of pull requests, by context.
	statuses map[*forgetest.PullRequest]map[string]said
	// queued are the merges that the forge has not come to yet, auto those that wait for policies.
	queued map[*forgetest.PullRequest]*merge
	auto   map[*forgetest.PullRequest]merge
}

// said is a status of a pull request, and the head it is about.
type said struct{ state, head string }

type merge struct {
	actor, head string
	looks       int
}

// New starts an Azure DevOps, which ends with the test.
func New(t *testing.T) *Server {
	s := &Server{World: forgetest.NewWorld(), Faults: &forgetest.Faults{}, repos: map[*forgetest.Repo]*repository{}}
	s.World.Deliver = s.deliver
	api := http.NewServeMux()
	s.pullRoutes(api)
	s.conversationRoutes(api)
	s.repositoryRoutes(api)
	s.policyRoutes(api)
	s.itemRoutes(api)
	server := httptest.NewServer(s.Faults.Wrap(s.World.Serve(s.authenticate(api))))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// token is the password of Basic authentication, whoever it is of, or a bearer.
func token(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// authenticate shows the page to sign in to who is not known, and wants to be told a version.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch t := token(r); {
		case s.World.Users[t] == "":
			forgetest.Answer(http.StatusNonAuthoritativeInfo, "<html>Sign in</html>", "Content-Type", "text/html; charset=utf-8")(w, r)
		case r.URL.Query().Get("api-version") == "":
			refuse(w, http.StatusBadRequest, "VssVersionNotSpecifiedException", "No api-version was supplied for the request.")
		case s.World.Rights[t] == "read" && r.Method != http.MethodGet:
			refuse(w, http.StatusForbidden, "GitNeedsPermissionException", "TF401027: You need the Git 'PullRequestContribute' permission to perform this action.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// call is a request about a repository.
type call struct {
	*forgetest.Call
	*Server
	more *repository
}

// route serves requests about a repository.
func (s *Server) route(mux *http.ServeMux, method, path string, serve func(c *call)) {
	mux.HandleFunc(method+" /{organization}/{project}/_apis/git/repositories/{repository}"+path, func(w http.ResponseWriter, r *http.Request) {
		name := strings.Join([]string{r.PathValue("organization"), r.PathValue("project"), r.PathValue("repository")}, "/")
		c := s.call(w, r)
		if c.Repo = s.World.Repo(name); c.Repo == nil {
			refuse(w, http.StatusNotFound, "GitRepositoryNotFoundException", "TF401019: The Git repository with name or identifier "+
				r.PathValue("repository")+" does not exist or you do not have permissions for the operation you are attempting.")
			return
		}
		c.more = s.more(c.Repo)
		serve(c)
	})
}

// inProject serves requests about a project.
func (s *Server) inProject(mux *http.ServeMux, method, path string, serve func(c *call)) {
	mux.HandleFunc(method+" /{organization}/{project}/_apis"+path, func(w http.ResponseWriter, r *http.Request) { serve(s.call(w, r)) })
}

func (s *Server) call(w http.ResponseWriter, r *http.Request) *call {
	return &call{Call: &forgetest.Call{Request: r, Out: w, Actor: s.World.Users[token(r)]}, Server: s}
}

func (s *Server) more(repo *forgetest.Repo) *repository {
	if s.repos[repo] == nil {
		s.repos[repo] = &repository{
			iterations: map[*forgetest.PullRequest][]string{}, statuses: map[*forgetest.PullRequest]map[string]said{},
			queued: map[*forgetest.PullRequest]*merge{}, auto: map[*forgetest.PullRequest]merge{},
		}
	}
	return s.repos[repo]
}

// next is a number that never comes twice.
func (s *Server) next() int { s.counter++; return s.counter }

// guid makes an id of a number.
func guid(kind, n int) string { return fmt.Sprintf("%08d-0000-4000-8000-%012d", kind, n) }

// account is an identity as the API has it; nil for nobody.
func account(name string) any {
	if name == "" {
		return nil
	}
	return map[string]any{"id": "id-of-" + name, "displayName": strings.ToUpper(name), "uniqueName": name + "@example.com"}
}

// refuse says no, in the shape of all errors.
func refuse(w http.ResponseWriter, status int, key, message string) {
	c := forgetest.Call{Out: w}
	c.JSON(status, map[string]any{
		"$id": "1", "innerException": nil, "message": message, "typeName": "Microsoft.TeamFoundation.Git.Server." + key,
		"typeKey": key, "errorCode": 0, "eventId": 3000,
	})
}

// no says a rule's no.
func (c *call) no(err error) {
	var e *forge.Error
	if errors.As(err, &e) && errors.Is(e.Kind, forge.ErrConflict) {
		refuse(c.Out, http.StatusConflict, "GitPullRequestExistsException", "TF401179: "+e.Detail)
		return
	}
	refuse(c.Out, http.StatusBadRequest, "InvalidArgumentValueException", err.Error())
}

func (c *call) list(all []map[string]any) {
	c.JSON(http.StatusOK, map[string]any{"count": len(all), "value": slices.Concat([]map[string]any{}, all)})
}

// part is what top and skip leave of a list.
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
