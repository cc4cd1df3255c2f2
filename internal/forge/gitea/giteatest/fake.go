package giteatest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitea"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Fake is a Gitea in memory, with an HTTP server in front.
type Fake struct {
	*httptest.Server
	World  *forgetest.World
	Faults *forgetest.Faults

	reviews map[*forgetest.PullRequest][]*review
	counter int
}

// Tokens that the fake knows, and what they may do.
const (
	Token  = "gitea-token-of-the-bot"
	Person = "gitea-token-of-a-person"
	Weak   = "gitea-token-that-may-read"
)

// New starts a fake with the accounts of the tokens, and stops it when the test ends.
func New(t *testing.T) *Fake {
	t.Helper()
	f := &Fake{World: forgetest.NewWorld(), Faults: &forgetest.Faults{}, reviews: map[*forgetest.PullRequest][]*review{}}
	f.World.Grant(Token, "kalypso-bot", "admin")
	f.World.Grant(Person, "a-person", "admin")
	f.World.Grant(Weak, "a-reader", "read")
	f.World.Deliver = deliver
	f.Server = httptest.NewServer(f.Faults.Wrap(f.World.Serve(f.routes())))
	t.Cleanup(f.Close)
	return f
}

// Forge returns an adapter to the fake, with a token and a transport on a clock.
func (f *Fake) Forge(t *testing.T, token string, clock transport.Clock, timeout time.Duration) *gitea.Forge {
	t.Helper()
	adapter, err := gitea.New(gitea.Options{URL: f.URL, Token: forge.NewSecret(token), Transport: transport.Config{
		Clock: clock, Timeout: timeout, Attempts: 4, MaxBody: 8 << 20,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return adapter
}

// Harness starts a fake to try the rules on.
func Harness(t *testing.T) forgetest.Harness {
	f := New(t)
	clock := forgetest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	f.World.AddRepo("acme/other")
	adapter := func(token string) *gitea.Forge { return f.Forge(t, token, clock, time.Minute) }
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
			Faults: f.Faults, Clock: clock, Secrets: []string{Token},
			RateLimits: map[string]func(time.Duration) forgetest.Fault{"too many requests": forgetest.TooManyRequests},
			Impatient:  f.Forge(t, Token, clock, 20*time.Millisecond),
			Stranger:   adapter("gitea-token-of-a-stranger"),
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
	mux.Handle("GET /api/v1/user", f.handle(func(c *call) { c.JSON(200, userOf(c.Actor)) }))
	mux.Handle("POST /api/v1/orgs/{owner}/repos", f.handle((*call).createRepository))
	for pattern, handler := range map[string]func(*call){
		"GET ":                                   (*call).getRepository,
		"DELETE ":                                (*call).removeRepository,
		"GET /pulls":                             (*call).listPulls,
		"POST /pulls":                            (*call).openPull,
		"GET /pulls/{number}":                    (*call).getPull,
		"PATCH /pulls/{number}":                  (*call).editPull,
		"POST /pulls/{number}/merge":             (*call).mergePull,
		"GET /pulls/{number}/reviews":            (*call).listReviews,
		"POST /pulls/{number}/reviews":           (*call).createReview,
		"DELETE /pulls/{number}/reviews/{id}":    (*call).deleteReview,
		"GET /labels":                            (*call).listLabels,
		"POST /labels":                           (*call).createLabel,
		"GET /issues/{number}/labels":            (*call).pullLabels,
		"POST /issues/{number}/labels":           (*call).addLabels,
		"DELETE /issues/{number}/labels/{label}": (*call).removeLabel,
		"GET /issues/{number}/timeline":          (*call).timeline,
		"GET /issues/{number}/comments":          (*call).listComments,
		"POST /issues/{number}/comments":         (*call).createComment,
		"PATCH /issues/comments/{comment}":       (*call).editComment,
		"GET /issues":                            (*call).listIssues,
		"POST /issues":                           (*call).openIssue,
		"PATCH /issues/{number}":                 (*call).editIssue,
		"POST /statuses/{commit}":                (*call).setStatus,
		"GET /commits/{commit}/status":           (*call).statuses,
		"GET /branches/{branch}":                 (*call).getBranch,
		"POST /branches":                         (*call).createBranch,
		"DELETE /branches/{branch}":              (*call).deleteBranch,
		"GET /branch_protections/{branch}":       (*call).getProtection,
		"POST /branch_protections":               (*call).createProtection,
		"PATCH /branch_protections/{branch}":     (*call).editProtection,
		"DELETE /branch_protections/{branch}":    (*call).deleteProtection,
		"GET /hooks":                             (*call).listHooks,
		"POST /hooks":                            (*call).createHook,
		"DELETE /hooks/{hook}":                   (*call).deleteHook,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" /api/v1/repos/{owner}/{repo}"+path, f.handle(handler))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		(&call{Call: &forgetest.Call{Out: w, Request: r}}).fail(404, "not found")
	})
	return mux
}

// handle finds out who asks about what.
func (f *Fake) handle(handler func(*call)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "token ")
		c := &call{&forgetest.Call{Out: w, Request: r, Actor: f.World.Users[token]}, f}
		switch {
		case c.Actor == "":
			c.fail(401, "user does not exist [uid: 0, name: ]")
		case r.Method != http.MethodGet && f.World.Rights[token] == "read":
			c.fail(403, "token does not have at least one of required scope(s), required=[write:repository], token scope=read:repository")
		default:
			if r.PathValue("repo") != "" {
				c.Repo = f.World.Repo(r.PathValue("owner") + "/" + r.PathValue("repo"))
				if c.Repo == nil {
					c.fail(404, "not found")
					return
				}
			}
			handler(c)
		}
	})
}

func (c *call) fail(status int, message string) {
	c.JSON(status, map[string]any{"message": message, "url": "https://gitea.example.com/api/swagger"})
}

// refuse says a rule's no in the forge's words.
func (c *call) refuse(err error) bool {
	var e *forge.Error
	if !errors.As(err, &e) {
		return false
	}
	status := map[error]int{forge.ErrConflict: 409, forge.ErrInvalid: 422, forge.ErrNotFound: 404}[e.Kind]
	c.fail(status, e.Detail)
	return true
}
