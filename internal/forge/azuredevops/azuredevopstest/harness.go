package azuredevopstest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/azuredevops"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// The tokens that a server of [Start] knows, and one that it does not.
const (
	Token         = "pat-kalypso-0123456789"
	PersonToken   = "pat-person-0123456789"
	WeakToken     = "pat-weak-0123456789"
	StrangerToken = "pat-stranger-0123456789"
)

// Organization is the one that [Start] makes.
const Organization = "fabrikam"

// Start starts an Azure DevOps with three accounts and a harness around it.
func Start(t *testing.T) (*Server, forgetest.Harness) {
	s := New(t)
	s.World.Grant(Token, "kalypso-bot", "admin")
	s.World.Grant(PersonToken, "a-person", "write")
	s.World.Grant(WeakToken, "a-reader", "read")
	clock := forgetest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	connect := func(token string) *azuredevops.Forge {
		return s.Connect(t, token, transport.Config{Clock: clock})
	}
	repositories := 0
	return s, forgetest.Harness{
		Forge: connect(Token), Person: connect(PersonToken), Weak: connect(WeakToken), Owner: Organization + "/Fleet",
		NewRepository: func(*testing.T) string {
			repositories++
			return s.AddRepository(fmt.Sprintf("gitops-%d", repositories))
		},
		Commit: func(_ *testing.T, url, branch string) string { return s.Commit(url, branch) },
		Notes: func(t *testing.T, url string, change int) []forgetest.Note {
			return s.World.NotesOf(s.path(url))(t, url, change)
		},
		Fork: func(t *testing.T, url, branch string) int {
			s.AddRepository("fork")
			return s.World.ForkOf(s.path(url), Organization+"/Fleet/fork")(t, url, branch)
		},
		Fake: &forgetest.Fake{
			Faults: s.Faults, Clock: clock, Stranger: connect(StrangerToken),
			Impatient: s.Connect(t, Token, transport.Config{Clock: clock, Timeout: 20 * time.Millisecond, Attempts: 2}),
			RateLimits: map[string]func(time.Duration) forgetest.Fault{
				"429": func(wait time.Duration) forgetest.Fault {
					return forgetest.Fault{Answer: forgetest.Answer(http.StatusTooManyRequests,
						`{"message":"TF400733: The request has been canceled: Request was blocked due to exceeding usage of resource 'Concurrency'."}`,
						"Retry-After", forgetest.Seconds(wait), "X-RateLimit-Resource", "Concurrency", "X-RateLimit-Remaining", "0")}
				},
			},
			Secrets: []string{Token},
		},
	}
}

// Connect returns the adapter to this server.
func (s *Server) Connect(t *testing.T, token string, c transport.Config) *azuredevops.Forge {
	t.Helper()
	f, err := azuredevops.New(azuredevops.Options{URL: s.URL, Token: forge.NewSecret(token), Organization: Organization, Transport: c})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// AddRepository creates a repository in the project Fleet whose branch main has a commit, and returns its URL.
func (s *Server) AddRepository(name string) string {
	s.World.Do(func() { s.World.AddRepo(Organization + "/Fleet/" + name).Commit("main") })
	return s.URL + "/" + Organization + "/Fleet/_git/" + name
}

// Commit adds a commit to a branch of the repository with a URL, as a push would.
func (s *Server) Commit(url, branch string) (commit string) {
	s.World.Do(func() { commit = s.World.Repo(s.path(url)).Commit(branch) })
	return commit
}

// path is a repository's in the world.
func (s *Server) path(url string) string {
	return strings.Replace(strings.TrimPrefix(url, s.URL+"/"), "/_git/", "/", 1)
}
