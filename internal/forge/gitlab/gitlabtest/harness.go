package gitlabtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// The tokens that a server of [Start] knows, and one that it does not.
const (
	Token         = "glpat-kalypso-0123456789"
	PersonToken   = "glpat-person-0123456789"
	WeakToken     = "glpat-weak-0123456789"
	StrangerToken = "glpat-stranger-0123456789"
)

// Start starts a GitLab with three accounts and a harness around it.
func Start(t *testing.T) (*Server, forgetest.Harness) {
	s := New(t)
	s.World.Grant(Token, "kalypso-bot", "admin")
	s.World.Grant(PersonToken, "a-person", "write")
	s.World.Grant(WeakToken, "a-reader", "read")
	clock := forgetest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	connect := func(token string) *gitlab.Forge { return s.Connect(t, token, transport.Config{Clock: clock}) }
	repositories := 0
	return s, forgetest.Harness{
		Forge: connect(Token), Person: connect(PersonToken), Weak: connect(WeakToken), Owner: "platform/teams",
		NewRepository: func(*testing.T) string {
			repositories++
			return s.AddProject(fmt.Sprintf("platform/teams/gitops-%d", repositories))
		},
		Commit: func(_ *testing.T, url, branch string) string { return s.Commit(url, branch) },
		Notes: func(t *testing.T, url string, change int) []forgetest.Note {
			return s.World.NotesOf(strings.TrimPrefix(url, s.URL+"/"))(t, url, change)
		},
		Fork: func(t *testing.T, url, branch string) int {
			s.AddProject("a-stranger/fork")
			return s.World.ForkOf(strings.TrimPrefix(url, s.URL+"/"), "a-stranger/fork")(t, url, branch)
		},
		Fake: &forgetest.Fake{
			Faults: s.Faults, Clock: clock, Stranger: connect(StrangerToken), RateLimits: rateLimits(clock),
			Impatient: s.Connect(t, Token, transport.Config{Clock: clock, Timeout: 20 * time.Millisecond, Attempts: 2}),
			Secrets:   []string{Token},
		},
	}
}

// Connect returns the adapter to this server.
func (s *Server) Connect(t *testing.T, token string, c transport.Config) *gitlab.Forge {
	t.Helper()
	f, err := gitlab.New(gitlab.Options{URL: s.URL, Token: forge.NewSecret(token), Transport: c})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// AddProject creates a project whose branch main has a commit, and returns its URL.
func (s *Server) AddProject(path string) string {
	s.World.Do(func() { s.World.AddRepo(path).Commit("main") })
	return s.URL + "/" + path
}

// Commit adds a commit to a branch of the project with a URL, as a push would.
func (s *Server) Commit(url, branch string) (commit string) {
	s.World.Do(func() { commit = s.World.Repo(strings.TrimPrefix(url, s.URL+"/")).Commit(branch) })
	return commit
}

// rateLimits are the ways in which GitLab, and the proxies in front of gitlab.com, say that we asked too much.
func rateLimits(clock *forgetest.Clock) map[string]func(time.Duration) forgetest.Fault {
	return map[string]func(time.Duration) forgetest.Fault{
		"retry-after": func(wait time.Duration) forgetest.Fault {
			return forgetest.Fault{Answer: forgetest.Answer(http.StatusTooManyRequests, "Retry later\n",
				"Content-Type", "text/plain", "Retry-After", forgetest.Seconds(wait))}
		},
		"reset": func(wait time.Duration) forgetest.Fault {
			return forgetest.Fault{Answer: forgetest.Answer(http.StatusTooManyRequests, "Retry later\n",
				"Content-Type", "text/plain", "RateLimit-Limit", "60", "RateLimit-Remaining", "0",
				"RateLimit-Reset", fmt.Sprint(clock.Now().Add(wait).Unix()))}
		},
	}
}
