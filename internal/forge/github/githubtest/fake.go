package githubtest

import (
	_ "embed"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Published is what the forge's API description says of the requests that the adapter sends.
//
//go:embed published.txt
var Published string

// Fake is a GitHub in memory.
type Fake struct {
	*forgetest.Server
	// CheckRuns maps commits to check runs, as the API describes them.
	CheckRuns map[string][]map[string]any
	// Rules maps branches to the rules of rulesets, as the API describes them.
	Rules map[string][]map[string]any
	// Methods are the ways to merge that repositories allow; nil means all.
	Methods []string
	// Apps serves requests about apps. Optional.
	Apps http.Handler
}

// Token belongs to an account with all permissions.
const Token = forgetest.Token

// New starts a fake, and stops it when the test ends.
func New(t *testing.T) *Fake {
	t.Helper()
	f := &Fake{Server: forgetest.Start(t, forgetest.Dialect{
		Token: forgetest.Bearer,
		Repository: func(r *http.Request) string {
			return strings.Trim(r.PathValue("owner")+"/"+r.PathValue("repo"), "/")
		},
		Refuse: refuse, Published: Published, Tags: true,
	}, deliver)}
	route := func(pattern string, serve func(*call)) {
		f.Route(pattern, func(c *forgetest.Call) { serve(&call{c, f}) })
	}
	for pattern, serve := range routes {
		method, path, _ := strings.Cut(pattern, " ")
		route(method+" /api/v3/repos/{owner}/{repo}"+path, serve)
	}
	route("GET /api/v3/user", func(c *call) { c.JSON(200, userOf(c.Actor)) })
	route("POST /api/v3/orgs/{org}/repos", (*call).createRepository)
	route("POST /api/graphql", (*call).graphQL)
	apps := func(w http.ResponseWriter, r *http.Request) { f.Apps.ServeHTTP(w, r) }
	f.Mux.HandleFunc("/api/v3/app", apps)
	f.Mux.HandleFunc("/api/v3/app/", apps)
	return f
}

// refuse answers a request that cannot be served.
func refuse(c *forgetest.Call, r forgetest.Refusal) {
	no := &call{Call: c}
	switch {
	case r == forgetest.UnknownToken:
		no.fail(401, "Bad credentials")
	case r == forgetest.ReadOnly:
		c.Out.Header().Set("X-Accepted-GitHub-Permissions", "pull_requests=write")
		no.fail(403, "Resource not accessible by personal access token")
	case r == forgetest.NoBranch && c.Method == http.MethodDelete:
		no.fail(422, "Reference does not exist")
	case r == forgetest.NoProtection:
		no.fail(404, "Branch not protected")
	default:
		no.fail(404, "Not Found")
	}
}

// Forge returns an adapter to the fake.
func (f *Fake) Forge(t *testing.T, o github.Options) *github.Forge {
	t.Helper()
	o.URL, o.Transport.MaxBody = f.URL, 8<<20
	if o.Transport.Clock == nil {
		o.Transport.Writes = -1 // tests do not wait
	}
	adapter, err := github.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return adapter
}

// Harness starts a fake to run the rules against.
func Harness(t *testing.T) forgetest.Harness {
	f := New(t)
	h := f.Server.Harness("acme", func(token string, c transport.Config) forge.Forge {
		return f.Forge(t, github.Options{Token: forge.NewSecret(token), Transport: c})
	})
	h.Queue = func(_ *testing.T, url string) func() { return f.MergeQueue(url) }
	h.Fake.RateLimits = limits(h.Fake.Clock)
	return h
}

// limits are the ways in which GitHub signals a rate limit.
func limits(clock *forgetest.Clock) map[string]func(time.Duration) forgetest.Fault {
	return map[string]func(time.Duration) forgetest.Fault{
		"too many": forgetest.TooManyRequests,
		"primary": func(wait time.Duration) forgetest.Fault {
			// The header counts in seconds, and the adapter waits one second more.
			reset := strconv.FormatInt(clock.Now().Add(wait-time.Second).Unix()+1, 10)
			return forgetest.Fault{Answer: forgetest.Answer(403,
				`{"message":"API rate limit exceeded for user ID 1.","documentation_url":"https://docs.github.com/rest/rate-limits"}`,
				"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset, "X-RateLimit-Resource", "core")}
		},
		"secondary": func(wait time.Duration) forgetest.Fault {
			return forgetest.Fault{Answer: forgetest.Answer(403,
				`{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",`+
					`"documentation_url":"https://docs.github.com/rest/rate-limits#about-secondary-rate-limits"}`,
				"Retry-After", forgetest.Seconds(wait))}
		},
	}
}

// call is a request about a repository, by an account.
type call struct {
	*forgetest.Call
	fake *Fake
}

func (c *call) fail(status int, message string, errors ...object) {
	body := object{"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status)}
	if len(errors) > 0 {
		body["errors"] = errors
	}
	c.JSON(status, body)
}

// refuse answers with the error of a rule, in GitHub's format: nearly always a failed validation.
func (c *call) refuse(resource string, err error) bool {
	var e *forge.Error
	if !errors.As(err, &e) {
		return false
	}
	c.fail(422, "Validation Failed", object{"resource": resource, "code": "custom", "message": e.Detail})
	return true
}

// page answers with one page of a list.
func page[T any](c *call, all []T) { c.JSON(200, forgetest.Page(c.Call, all, "per_page", 100)) }
