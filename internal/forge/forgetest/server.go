package forgetest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Tokens of the accounts that a [Server] has, and one that it does not know.
const (
	Token   = "token-of-the-bot-0123456789"  // kalypso-bot, all permissions
	Person  = "token-of-a-person-0123456789" // a-person, all permissions
	Weak    = "token-of-a-reader-0123456789" // a-reader, read-only
	Unknown = "unknown-token-0123456789"     // unknown
)

// Server is the part that all fakes share: an HTTP server in front of a [World]. It authenticates requests, checks permissions,
// finds what a path names, and injects faults. A fake adds the routes and JSON shapes of one API.
type Server struct {
	*httptest.Server
	World  *World
	Faults *Faults
	// Mux serves requests that need no account.
	Mux *http.ServeMux
	// Recorder holds all exchanges that no fault replaced. Each must be as the forge's published description says.
	Recorder *Recorder

	dialect Dialect
	tags    tags
	paths   map[string]string // of repositories, by URL
}

// Dialect is how one forge's API reads and refuses requests.
type Dialect struct {
	// Token returns the token of a request.
	Token func(r *http.Request) string // required
	// Repository returns the path or number of a request's repository. Empty for other requests.
	Repository func(r *http.Request) string // required
	// Refuse answers a request that cannot be served.
	Refuse func(c *Call, r Refusal) // required
	// Published is the text of a [Published].
	Published string // required
	// Page returns the path of a repository's page. Nil means that it equals the repository's path.
	Page func(path string) string
	// Tags means that responses have ETags.
	Tags bool
}

// Refusal is the reason why a request cannot be served.
type Refusal string

// The refusals. The names of missing objects are those of GitLab.
const (
	UnknownToken  Refusal = "unknown token"
	ReadOnly      Refusal = "the token may only read"
	NoRoute       Refusal = "Route"
	NoRepository  Refusal = "Project"
	NoPullRequest Refusal = "Merge Request"
	NoIssue       Refusal = "Issue"
	NoComment     Refusal = "Comment"
	NoNote        Refusal = "Note"
	NoHook        Refusal = "Hook"
	NoBranch      Refusal = "Branch"
	NoProtection  Refusal = "Protected Branch"
)

// Start starts a server without routes, and stops it when the test ends. The test fails if an exchange is not as published.
// deliver sends webhooks; see [World].
func Start(t *testing.T, d Dialect, deliver func(r *Repo, h forge.Hook, e Event)) *Server {
	t.Helper()
	s := &Server{World: NewWorld(), Faults: &Faults{}, Mux: http.NewServeMux(), Recorder: &Recorder{}, dialect: d, paths: map[string]string{}}
	s.World.Grant(Token, "kalypso-bot", "admin")
	s.World.Grant(Person, "a-person", "admin")
	s.World.Grant(Weak, "a-reader", "read")
	s.World.Deliver = deliver
	s.Route("/", func(c *Call) { d.Refuse(c, NoRoute) })
	published, err := ParsePublished(d.Published)
	if err != nil {
		t.Fatal(err)
	}
	handler := s.Faults.Wrap(s.Recorder.Wrap(s.World.Serve(s.Mux)))
	if d.Tags {
		handler = s.tags.wrap(handler)
	}
	s.Server = httptest.NewServer(handler)
	t.Cleanup(func() {
		s.Close()
		s.Recorder.verify(t, published)
	})
	return s
}

// Route serves authenticated requests that match a pattern of [http.ServeMux]. The path parameters {pull}, {issue},
// {comment}, {note} and {hook} must name existing objects, which serve finds in the call; {branch} must name a branch,
// and {protected} a protected one.
func (s *Server) Route(pattern string, serve func(c *Call)) {
	s.Mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		token := s.dialect.Token(r)
		c := &Call{Request: r, Out: w, Actor: s.World.Users[token]}
		refusal := c.find(s.World, s.dialect.Repository(r))
		switch {
		case c.Actor == "":
			refusal = UnknownToken
		case r.Method != http.MethodGet && s.World.Rights[token] == "read":
			refusal = ReadOnly
		}
		if refusal != "" {
			s.dialect.Refuse(c, refusal)
			return
		}
		serve(c)
	})
}

// find looks up the objects that a request's path names. It returns the first that does not exist.
func (c *Call) find(w *World, repository string) Refusal {
	if repository == "" {
		return ""
	}
	if c.Repo = w.Repo(repository); c.Repo == nil {
		return NoRepository
	}
	var on *PullRequest
	if c.PathValue("pull") != "" {
		if c.Pull = c.Repo.PullRequest(c.Number("pull")); c.Pull == nil {
			return NoPullRequest
		}
	}
	if c.PathValue("issue") != "" {
		if c.Issue = c.Repo.Issue(c.Number("issue")); c.Issue == nil {
			return NoIssue
		}
	}
	if id := c.PathValue("comment"); id != "" {
		if c.Comment, on = c.Repo.Comment(id); c.Comment == nil || c.Pull != nil && c.Pull != on {
			return NoComment
		}
	}
	if id := c.PathValue("note"); id != "" {
		if c.Note, on = c.Repo.Note(id); c.Note == nil || c.Pull != nil && c.Pull != on {
			return NoNote
		}
	}
	if c.PathValue("hook") != "" {
		i := c.Number("hook") - 1
		if i < 0 || i >= len(c.Repo.Hooks) {
			return NoHook
		}
		c.Hook = &c.Repo.Hooks[i]
	}
	if name := c.PathValue("branch"); name != "" && c.Repo.Branches[name] == "" {
		return NoBranch
	}
	if name := c.PathValue("protected"); name != "" && !c.Repo.Protections[name].Protected() {
		return NoProtection
	}
	return ""
}

// AddRepository creates a repository whose branch main has a commit, and returns its URL.
func (s *Server) AddRepository(path string) string {
	page := path
	if s.dialect.Page != nil {
		page = s.dialect.Page(path)
	}
	s.World.Do(func() { s.World.AddRepo(path).Commit("main") })
	s.paths[s.URL+"/"+page] = path
	return s.URL + "/" + page
}

// Repo returns the repository at a URL that [Server.AddRepository] returned.
func (s *Server) Repo(url string) *Repo { return s.World.Repo(s.paths[url]) }

// Commit adds a commit to a branch, as a push would. A branch that does not exist starts at the default branch.
func (s *Server) Commit(url, branch string) (commit string) {
	s.World.Do(func() { commit = s.Repo(url).Commit(branch) })
	return commit
}

// Notes returns the comments at lines of a pull request.
func (s *Server) Notes(url string, pull int) []Note {
	s.World.Lock()
	defer s.World.Unlock()
	var notes []Note
	for _, n := range s.Repo(url).PullRequest(pull).Notes {
		notes = append(notes, *n)
	}
	return notes
}

// Harness returns the harness of the fake, with repositories below owner and without rate limits.
// connect returns an adapter to the fake.
func (s *Server) Harness(owner string, connect func(token string, c transport.Config) forge.Forge) Harness {
	clock := NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	adapter := func(token string) forge.Forge { return connect(token, transport.Config{Clock: clock}) }
	repositories := 0
	return Harness{
		Forge: adapter(Token), Person: adapter(Person), Weak: adapter(Weak), Owner: owner,
		NewRepository: func(*testing.T) string {
			repositories++
			return s.AddRepository(fmt.Sprintf("%s/gitops-%d", owner, repositories))
		},
		Commit: func(_ *testing.T, url, branch string) string { return s.Commit(url, branch) },
		Fork: func(_ *testing.T, url, branch string) int {
			s.AddRepository(owner + "/fork")
			s.World.Lock()
			defer s.World.Unlock()
			return s.Repo(url).OpenFromFork("another-person", owner+"/fork", branch).Number
		},
		Review: func(_ *testing.T, url string, number int, d forge.ReviewDecision) bool {
			s.Review(url, number, "a-person", d)
			return true
		},
		Notes: func(_ *testing.T, url string, pull int) []Note { return s.Notes(url, pull) },
		Fake: &Fake{
			Faults: s.Faults, Clock: clock, Secrets: []string{Token}, Unknown: adapter(Unknown),
			Impatient: connect(Token, transport.Config{Clock: clock, Timeout: 20 * time.Millisecond, Attempts: 2}),
		},
	}
}

// Bearer returns the token of the header Authorization, after its scheme.
func Bearer(r *http.Request) string {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return token
}
