package gitlabtest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Start starts a GitLab and returns a harness for it.
func Start(t *testing.T) (*Server, forgetest.Harness) {
	s := New(t)
	h := s.Harness("platform/teams", func(token string, c transport.Config) forge.Forge { return s.Connect(t, token, c) })
	review := h.Review
	h.Review = func(t *testing.T, url string, number int, d forge.ReviewDecision) bool {
		return d != "" && review(t, url, number, d) // comments are none of reviews
	}
	h.Queue = func(_ *testing.T, url string) func() { return s.MergeQueue(url) }
	h.Fake.RateLimits = rateLimits(h.Fake.Clock)
	return s, h
}

// Connect returns an adapter to this server.
func (s *Server) Connect(t *testing.T, token string, c transport.Config) *gitlab.Forge {
	t.Helper()
	f, err := gitlab.New(gitlab.Options{URL: s.URL, Token: forge.NewSecret(token), Transport: c})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rateLimits are the ways in which GitLab, and the proxies in front of gitlab.com, signal a rate limit.
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
