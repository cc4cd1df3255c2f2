package githubtest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Fake is a GitHub in memory.
type Fake struct {
	*httptest.Server
	World  *forgetest.World
	Faults *forgetest.Faults
	// CheckRuns are the check runs of a commit, as the API has them.
	CheckRuns map[string][]map[string]any
	// Apps answers requests about apps; may be nil.
	Apps http.Handler
}

// Tokens that the fake knows, and what they may do.
const (
	Token  = "ghp_token_of_the_bot"
	Person = "ghp_token_of_a_person"
	Weak   = "ghp_token_that_may_read"
)

// New starts a fake with the accounts of the tokens, and stops it when the test ends.
func New(t *testing.T) *Fake {
	t.Helper()
	f := &Fake{World: forgetest.NewWorld(), Faults: &forgetest.Faults{}}
	f.World.Grant(Token, "kalypso-bot", "admin")
	f.World.Grant(Person, "a-person", "admin")
	f.World.Grant(Weak, "a-reader", "read")
	f.World.Deliver = deliver
	f.Server = httptest.NewServer(f.Faults.Wrap(f.World.Serve(f.routes())))
	t.Cleanup(f.Close)
	return f
}

// Forge returns an adapter to the fake.
func (f *Fake) Forge(t *testing.T, o github.Options) *github.Forge {
	t.Helper()
	o.URL, o.Transport.MaxBody = f.URL, 8<<20
	adapter, err := github.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return adapter
}

// Harness starts a fake to try the rules on.
func Harness(t *testing.T) forgetest.Harness {
	f := New(t)
	clock := forgetest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	adapter := func(token string) *github.Forge {
		return f.Forge(t, github.Options{Token: forge.NewSecret(token), Transport: transport.Config{Clock: clock}})
	}
	return forgetest.Harness{
		Forge: adapter(Token), Person: adapter(Person), Weak: adapter(Weak), Owner: "acme",
		NewRepository: func(*testing.T) string {
			f.World.Lock()
			defer f.World.Unlock()
			f.World.AddRepo("acme/gitops").Commit("main")
			return f.URL + "/acme/gitops"
		},
		Commit: f.World.CommitTo("acme/gitops"), Fork: f.World.ForkOf("acme/gitops", "stranger/gitops"),
		Notes: f.World.NotesOf("acme/gitops"),
		Fake: &forgetest.Fake{
			Faults: f.Faults, Clock: clock, Secrets: []string{Token}, Stranger: adapter("ghp_token_of_a_stranger"),
			Impatient: f.Forge(t, github.Options{
				Token: forge.NewSecret(Token), Transport: transport.Config{Clock: clock, Timeout: 20 * time.Millisecond},
			}),
			RateLimits: limits(clock),
		},
	}
}

// limits are the ways in which GitHub says that it was asked too much.
func limits(clock *forgetest.Clock) map[string]func(time.Duration) forgetest.Fault {
	return map[string]func(time.Duration) forgetest.Fault{
		"too many": forgetest.TooManyRequests,
		"primary": func(wait time.Duration) forgetest.Fault {
			// The header counts in seconds, and a second is waited for good measure.
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

func (f *Fake) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handler := range routes {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" /api/v3/repos/{owner}/{repo}"+path, f.handle(handler))
	}
	mux.Handle("GET /api/v3/user", f.handle(func(c *call) { c.JSON(200, userOf(c.Actor)) }))
	mux.Handle("POST /api/v3/orgs/{owner}/repos", f.handle((*call).createRepository))
	mux.Handle("POST /api/graphql", f.handle((*call).graphQL))
	mux.HandleFunc("/api/v3/app", func(w http.ResponseWriter, r *http.Request) { f.Apps.ServeHTTP(w, r) })
	mux.HandleFunc("/api/v3/app/", func(w http.ResponseWriter, r *http.Request) { f.Apps.ServeHTTP(w, r) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		(&call{Call: &forgetest.Call{Out: w, Request: r}}).fail(404, "Not Found")
	})
	return mux
}

// handle finds out who asks about what.
func (f *Fake) handle(handler func(*call)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		c := &call{&forgetest.Call{Out: w, Request: r, Actor: f.World.Users[token]}, f}
		switch {
		case c.Actor == "":
			c.fail(401, "Bad credentials")
			return
		case r.Method != http.MethodGet && f.World.Rights[token] == "read":
			w.Header().Set("X-Accepted-GitHub-Permissions", "pull_requests=write")
			c.fail(403, "Resource not accessible by personal access token")
			return
		case r.PathValue("repo") != "":
			if c.Repo = f.World.Repo(r.PathValue("owner") + "/" + r.PathValue("repo")); c.Repo == nil {
				c.fail(404, "Not Found")
				return
			}
		}
		handler(c)
	})
}

func (c *call) fail(status int, message string, errors ...object) {
	body := object{"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status)}
	if len(errors) > 0 {
		body["errors"] = errors
	}
	c.JSON(status, body)
}

// refuse says a rule's no in GitHub's words: nearly always that validation failed.
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
