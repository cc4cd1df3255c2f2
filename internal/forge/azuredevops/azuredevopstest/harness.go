package azuredevopstest

import (
	"net/http"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/azuredevops"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Token belongs to an account with all permissions.
const Token = forgetest.Token

// Organization is the organization that [Start] creates.
const Organization = "fabrikam"

// Start starts an Azure DevOps and returns a harness for it.
func Start(t *testing.T) (*Server, forgetest.Harness) {
	s := New(t)
	h := s.Harness(Organization+"/Fleet", func(token string, c transport.Config) forge.Forge { return s.Connect(t, token, c) })
	review := h.Review
	h.Review = func(t *testing.T, url string, number int, d forge.ReviewDecision) bool {
		return d != "" && review(t, url, number, d) // comments are none of votes
	}
	h.Fake.RateLimits = map[string]func(time.Duration) forgetest.Fault{
		"429": func(wait time.Duration) forgetest.Fault {
			return forgetest.Fault{Answer: forgetest.Answer(http.StatusTooManyRequests,
				`{"message":"TF400733: The request has been canceled: Request was blocked due to exceeding usage of resource 'Concurrency'."}`,
				"Retry-After", forgetest.Seconds(wait), "X-RateLimit-Resource", "Concurrency", "X-RateLimit-Remaining", "0")}
		},
	}
	return s, h
}

// Connect returns an adapter to this server.
func (s *Server) Connect(t *testing.T, token string, c transport.Config) *azuredevops.Forge {
	t.Helper()
	f, err := azuredevops.New(azuredevops.Options{URL: s.URL, Token: forge.NewSecret(token), Organization: Organization, Transport: c})
	if err != nil {
		t.Fatal(err)
	}
	return f
}
