package gitlabtest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// Server is a GitLab.
type Server struct {
	// URL is where it is.
	URL    string
	World  *forgetest.World
	Faults *forgetest.Faults
	// Premium says whether there are required approvals and owners of code.
	Premium bool
	// Signing says whether deliveries are signed, as since GitLab 19.
	Signing bool

	projects   map[*forgetest.Repo]*project
	namespaces []string
	counter    int
}

// project is what a project has beyond what all forges know.
type project struct {
	protected map[string]*protectedBranch
	rules     []*approvalRule
	// pipelines says that they must succeed, threads that they must be resolved.
	pipelines, threads bool
	// auto are the merges that wait for a pipeline.
	auto map[*forgetest.PullRequest]autoMerge
	// signing are the hooks' keys, by URL.
	signing map[string]string
}

type autoMerge struct {
	actor string
	merge forge.Merge
}

// New starts a GitLab, which ends with the test.
func New(t *testing.T) *Server {
	s := &Server{
		World: forgetest.NewWorld(), Faults: &forgetest.Faults{}, Premium: true, Signing: true,
		projects: map[*forgetest.Repo]*project{},
	}
	s.World.SharedNumbers = false
	s.World.Deliver = s.deliver
	api := http.NewServeMux()
	s.changeRoutes(api)
	s.conversationRoutes(api)
	s.projectRoutes(api)
	s.protectionRoutes(api)
	server := httptest.NewServer(s.Faults.Wrap(s.World.Serve(s.authenticate(api))))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// authenticate knows tokens in the three headers in which they come.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Private-Token")
		if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			token = bearer
		}
		if job := r.Header.Get("Job-Token"); job != "" {
			token = job
		}
		switch {
		case s.World.Users[token] == "":
			say(w, http.StatusUnauthorized, "401 Unauthorized")
		case s.World.Rights[token] == "read" && r.Method != http.MethodGet:
			answer(w, http.StatusForbidden, map[string]any{
				"error": "insufficient_scope", "scope": "api",
				"error_description": "The request requires higher privileges than provided by the access token.",
			})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// actor is who asks.
func (s *Server) actor(r *http.Request) string {
	for _, token := range []string{
		r.Header.Get("Private-Token"), r.Header.Get("Job-Token"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
	} {
		if user := s.World.Users[token]; user != "" {
			return user
		}
	}
	return ""
}

// call is a request about a project.
type call struct {
	*Server
	w       http.ResponseWriter
	r       *http.Request
	actor   string
	repo    *forgetest.Repo
	project *project
	in      map[string]any
}

// route serves requests about a project.
func (s *Server) route(mux *http.ServeMux, method, path string, serve func(c *call)) {
	mux.HandleFunc(method+" /api/v4/projects/{project}"+path, func(w http.ResponseWriter, r *http.Request) {
		c := &call{Server: s, w: w, r: r, actor: s.actor(r), repo: s.find(r.PathValue("project"))}
		if c.repo == nil {
			say(w, http.StatusNotFound, "404 Project Not Found")
			return
		}
		c.project = s.projectOf(c.repo)
		if r.Method == http.MethodPost || r.Method == http.MethodPut {
			if err := json.NewDecoder(r.Body).Decode(&c.in); err != nil {
				answer(w, http.StatusBadRequest, map[string]any{"error": "invalid JSON"})
				return
			}
		}
		serve(c)
	})
}

// find finds a project by path or number.
func (s *Server) find(id string) *forgetest.Repo {
	for repo := range s.projects {
		if strconv.Itoa(repo.ID) == id {
			return repo
		}
	}
	return s.World.Repo(id)
}

func (s *Server) projectOf(repo *forgetest.Repo) *project {
	if s.projects[repo] == nil {
		s.projects[repo] = &project{
			protected: map[string]*protectedBranch{}, auto: map[*forgetest.PullRequest]autoMerge{}, signing: map[string]string{},
		}
	}
	return s.projects[repo]
}

// next is a number that never comes twice.
func (s *Server) next() int { s.counter++; return s.counter }

func (c *call) text(name string) string { text, _ := c.in[name].(string); return text }

func (c *call) has(name string) bool { _, ok := c.in[name]; return ok }

func (c *call) yes(name string) bool { yes, _ := c.in[name].(bool); return yes }

func (c *call) number(name string) int { n, _ := c.in[name].(float64); return int(n) }

func (c *call) words(name string) []string {
	return strings.FieldsFunc(c.text(name), func(r rune) bool { return r == ',' })
}

// refuse says a rule's no as GitLab says it.
func (c *call) refuse(err error) {
	var e *forge.Error
	status := http.StatusInternalServerError
	if errors.As(err, &e) {
		status = map[error]int{forge.ErrConflict: http.StatusConflict, forge.ErrInvalid: http.StatusBadRequest}[e.Kind]
		answer(c.w, status, map[string]any{"message": []string{e.Detail}})
		return
	}
	say(c.w, status, "500 Internal Server Error")
}

func (c *call) notFound(what string) { say(c.w, http.StatusNotFound, "404 "+what+" Not Found") }

// say answers with a message, as most refusals are.
func say(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]any{"message": message})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if body != nil {
		_ = json.NewEncoder(w).Encode(body)
	}
}

// pages answers with the page of a list that was asked for, and names the next one.
func pages[T any](c *call, list []T) {
	answer(c.w, http.StatusOK, forgetest.Page(&forgetest.Call{Request: c.r, Out: c.w}, list, "per_page", 100))
}

// account is a user as the API has it; nil for nobody.
func account(name string) any {
	if name == "" {
		return nil
	}
	return map[string]any{"username": name, "name": name, "state": "active"}
}
