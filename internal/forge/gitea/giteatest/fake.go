package giteatest

import (
	_ "embed"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitea"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Published is what the forge's API description says of the requests that the adapter sends.
//
//go:embed published.txt
var Published string

// Fake is a Gitea in memory.
type Fake struct {
	*forgetest.Server

	reviews map[*forgetest.PullRequest][]*review
	counter int
}

// Tokens that the fake knows: one with all permissions, and a read-only one.
const (
	Token = forgetest.Token
	Weak  = forgetest.Weak
)

// New starts a fake, and stops it when the test ends.
func New(t *testing.T) *Fake {
	t.Helper()
	f := &Fake{Server: forgetest.Start(t, forgetest.Dialect{
		Token: forgetest.Bearer,
		Repository: func(r *http.Request) string {
			return strings.Trim(r.PathValue("owner")+"/"+r.PathValue("repo"), "/")
		},
		Refuse: refuse, Published: Published,
	}, deliver), reviews: map[*forgetest.PullRequest][]*review{}}
	route := func(pattern string, serve func(*call)) {
		f.Route(pattern, func(c *forgetest.Call) { serve(&call{c, f}) })
	}
	for pattern, serve := range routes {
		method, path, _ := strings.Cut(pattern, " ")
		route(method+" /api/v1/repos/{owner}/{repo}"+path, serve)
	}
	route("GET /api/v1/user", func(c *call) { c.JSON(200, userOf(c.Actor)) })
	route("POST /api/v1/orgs/{org}/repos", (*call).createRepository)
	return f
}

// refuse answers a request that cannot be served.
func refuse(c *forgetest.Call, r forgetest.Refusal) {
	no := &call{Call: c}
	switch r {
	case forgetest.UnknownToken:
		no.fail(401, "user does not exist [uid: 0, name: ]")
	case forgetest.ReadOnly:
		no.fail(403, "token does not have at least one of required scope(s), required=[write:repository], token scope=read:repository")
	default:
		no.fail(404, "not found")
	}
}

// Connect returns an adapter to the fake.
func (f *Fake) Connect(t *testing.T, token string, c transport.Config) *gitea.Forge {
	t.Helper()
	c.Attempts, c.MaxBody = 4, 8<<20
	adapter, err := gitea.New(gitea.Options{URL: f.URL, Token: forge.NewSecret(token), Transport: c})
	if err != nil {
		t.Fatal(err)
	}
	return adapter
}

// Harness starts a fake to run the rules against.
func Harness(t *testing.T) forgetest.Harness {
	f := New(t)
	h := f.Server.Harness("acme", func(token string, c transport.Config) forge.Forge { return f.Connect(t, token, c) })
	h.Fake.RateLimits = map[string]func(time.Duration) forgetest.Fault{"too many requests": forgetest.TooManyRequests}
	return h
}

// call is a request to the fake.
type call struct {
	*forgetest.Call
	fake *Fake
}

// routes are the requests about repositories that the fake serves.
var routes = map[string]func(*call){
	"GET ":                                   (*call).getRepository,
	"DELETE ":                                (*call).removeRepository,
	"GET /pulls":                             (*call).listPulls,
	"POST /pulls":                            (*call).openPull,
	"GET /pulls/{pull}":                      (*call).getPull,
	"PATCH /pulls/{pull}":                    (*call).editPull,
	"POST /pulls/{pull}/merge":               (*call).mergePull,
	"GET /pulls/{pull}/reviews":              (*call).listReviews,
	"POST /pulls/{pull}/reviews":             (*call).createReview,
	"DELETE /pulls/{pull}/reviews/{id}":      (*call).deleteReview,
	"GET /labels":                            (*call).listLabels,
	"POST /labels":                           (*call).createLabel,
	"GET /issues/{pull}/labels":              (*call).pullLabels,
	"POST /issues/{number}/labels":           (*call).addLabels,
	"DELETE /issues/{pull}/labels/{label}":   (*call).removeLabel,
	"GET /issues/{pull}/timeline":            (*call).timeline,
	"GET /issues/{number}/comments":          (*call).listComments,
	"POST /issues/{pull}/comments":           (*call).createComment,
	"PATCH /issues/comments/{comment}":       (*call).editComment,
	"GET /issues":                            (*call).listIssues,
	"POST /issues":                           (*call).openIssue,
	"PATCH /issues/{issue}":                  (*call).editIssue,
	"POST /statuses/{commit}":                (*call).setStatus,
	"GET /commits/{commit}/status":           (*call).statuses,
	"GET /branches/{branch}":                 (*call).getBranch,
	"POST /branches":                         (*call).createBranch,
	"DELETE /branches/{branch}":              (*call).deleteBranch,
	"GET /branch_protections/{protected}":    (*call).getProtection,
	"POST /branch_protections":               (*call).createProtection,
	"PATCH /branch_protections/{protected}":  (*call).editProtection,
	"DELETE /branch_protections/{protected}": (*call).deleteProtection,
	"GET /hooks":                             (*call).listHooks,
	"POST /hooks":                            (*call).createHook,
	"DELETE /hooks/{hook}":                   (*call).deleteHook,
}

// page answers with one page of a list.
func (c *call) page(all []object) { c.JSON(200, forgetest.Page(c.Call, all, "limit", 50)) }

// unlinked answers with one page of a list, and does not link the next one.
func (c *call) unlinked(all []object) {
	page := forgetest.Page(c.Call, all, "limit", 50)
	c.Out.Header().Del("Link")
	c.JSON(200, page)
}

func (c *call) fail(status int, message string) {
	c.JSON(status, map[string]any{"message": message, "url": "https://gitea.example.com/api/swagger"})
}

// refuse answers with the error of a rule, in the forge's format.
func (c *call) refuse(err error) bool {
	var e *forge.Error
	if !errors.As(err, &e) {
		return false
	}
	status := map[error]int{forge.ErrConflict: 409, forge.ErrInvalid: 422, forge.ErrNotFound: 404}[e.Kind]
	c.fail(status, e.Detail)
	return true
}
