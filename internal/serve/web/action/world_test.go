package action_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/session"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/serve/web/action"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const controlPlane = "http://git.example.com/acme/control-plane.git"

// recordedAs is how ledgers spell the control plane.
const recordedAs = "https://git.example.com/acme/control-plane"

// The commits of main, the oldest first.
var older, old, present, next = commit("1"), commit("2"), commit("3"), commit("4")

func commit(digit string) string { return strings.Repeat(digit, 40) }

// world is a server with pages, sessions and an API over a real ledger.
type world struct {
	t      *testing.T
	ledger *sqlite.Ledger
	// standings are what the rounds of the server know.
	standings []promote.Standing
	guard     *access.Guard
	sessions  *session.Sessions
	server    *httptest.Server
	// host is the forge, with a pull request for prod.
	host   *host
	spoken []string
	log    bytes.Buffer
}

// ControlPlanes implements [query.Fleet].
func (w *world) ControlPlanes() []query.ControlPlane {
	return []query.ControlPlane{{
		URL: controlPlane, Promotion: &promote.Outcome{Subject: controlPlane, Environments: w.standings},
		Scheduling: map[string]*query.Scheduled{"prod": {Outcome: &schedule.Outcome{
			GitOps: schedule.Location{Repo: gitOps}, PullRequest: &forge.PullRequest{Number: w.host.files.Number, URL: w.host.files.URL},
		}}},
	}}
}

// verified are the rules of prod, and progress is how far their verifications are.
var (
	verified = v1alpha1.Promotion{Verify: []v1alpha1.Verification{
		{Name: "release", Approval: &v1alpha1.ApprovalVerification{}}, {Name: "smoke", HTTP: &v1alpha1.HTTPVerification{URL: "https://shop.example"}},
	}}
	progress = []decide.CheckProgress{
		{Name: "release", Kind: "approval", State: decide.CheckWaiting, Reason: "0 of 1 approvals", Required: 1},
		{Name: "smoke", Kind: "http", State: decide.CheckFailed, Value: "503 Service Unavailable", Required: 1},
	}
)

// newWorld is a fleet in which dev runs the next commit, and prod the present one after two others.
func newWorld(t *testing.T) *world {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	w := &world{t: t, ledger: l, host: newHost(), guard: &access.Guard{Store: l}, standings: []promote.Standing{
		{Environment: "dev", Phase: decide.Good, Commit: next, Reason: "4444444 is deployed"},
		{
			Environment: "prod", Phase: decide.Good, Commit: present, Reason: "3333333 is deployed", After: []string{"dev"}, Rules: &verified, Checks: progress,
			Targets: []decide.RollbackTarget{{Commit: old, Why: "it failed"}, {Commit: older, Good: true}},
		},
	}}
	for i, c := range []string{older, old, present} {
		w.step(c, "prod", decide.StepStarted, 10*(5-i))
		w.step(c, "prod", decide.StepDeployed, 10*(5-i)-5)
	}
	w.step(old, "prod", decide.StepFailed, 1)
	w.step(next, "dev", decide.StepStarted, 9)
	w.step(next, "dev", decide.StepDeployed, 8)
	w.serve()
	return w
}

func (w *world) step(c, environment string, kind decide.StepKind, minutesAgo int) {
	w.t.Helper()
	must(w.t, w.ledger.RecordStep(w.t.Context(), ledger.Step{
		PromotionID: ledger.PromotionID{Subject: recordedAs, Commit: c, Environment: environment}, Kind: string(kind),
		At: time.Now().Add(-time.Duration(minutesAgo) * time.Minute),
	}))
}

func (w *world) serve() {
	mux := http.NewServeMux()
	w.server = httptest.NewServer(mux)
	w.t.Cleanup(w.server.Close)
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	var err error
	w.sessions, err = session.New(session.Options{Guard: w.guard, Key: secret.New("a key"), URL: w.server.URL, Log: log})
	must(w.t, err)
	w.guard.Others = []access.Authenticator{w.sessions}
	observer := &query.Observer{Ledger: w.ledger, Fleet: w, Now: time.Now}
	operations := &api.Server{
		Observer: observer, Control: &promote.Control{Ledger: w.ledger}, Guard: w.guard, Ledger: w.ledger, Events: &api.Events{}, Log: log,
		OnCommand: func(_, environment string) { w.spoken = append(w.spoken, environment) },
	}
	pages := &web.Pages{Observer: observer, Guard: w.guard, Log: log}
	pages.Register(mux)
	w.sessions.Register(mux)
	pages.Trials = &trial.Planner{Plan: func(_ context.Context, q schedule.PlanRequest) (*schedule.Preview, error) {
		return &schedule.Preview{Drafts: []*schedule.Draft{{Plan: &plan.Plan{Environment: q.Environment, Before: "was", After: "with " + q.Commit, Counts: plan.Counts{Removed: 3}}}}}, nil
	}}
	(&action.Handlers{
		Pages: pages, Forms: w.sessions, API: operations.Handler(), Log: log, Forges: w.host, Trail: access.Trail{Store: w.ledger},
		Merged: operations.OnCommand,
	}).Register(mux)
	mux.HandleFunc("GET /told", func(rw http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(rw, w.sessions.Told(rw, r)) })
}

// browser is a user's browser, signed in unless the role is empty.
type browser struct {
	*world
	http.Client
}

func (w *world) browser(role access.Role) *browser {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	must(w.t, err)
	b := &browser{w, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if role == "" {
		return b
	}
	token := access.NewToken(role)
	must(w.t, w.ledger.PutToken(w.t.Context(), ledger.Token{ID: string(role), Hash: access.Hash(token), Role: string(role), Description: "ada", Created: time.Now()}))
	form := b.see("/-/sign-in").fields()
	form.Set("token", token.Reveal())
	if a := b.send("/-/sign-in", form); a.status != http.StatusSeeOther {
		w.t.Fatalf("sign in: got %d", a.status)
	}
	return b
}

// seen is what a browser got.
type seen struct {
	status   int
	to, text string
}

func (b *browser) see(path string) seen {
	b.t.Helper()
	a, err := b.Get(b.server.URL + path)
	return b.read(a, err)
}

func (b *browser) send(path string, form url.Values) seen {
	b.t.Helper()
	a, err := b.PostForm(b.server.URL+path, form)
	return b.read(a, err)
}

func (b *browser) read(a *http.Response, err error) seen {
	b.t.Helper()
	must(b.t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	must(b.t, err)
	return seen{a.StatusCode, a.Header.Get("Location"), string(text)}
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// fields are those that the form of a page carries.
func (s seen) fields() url.Values {
	_, form, _ := strings.Cut(s.text, `method="post"`)
	values := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(form, -1) {
		values.Set(field[1], field[2])
	}
	return values
}

// confirm sends the form of a page, with a reason.
func (b *browser) confirm(path string) seen {
	b.t.Helper()
	page := b.see(path)
	form := page.fields()
	if form.Get("csrf") == "" {
		b.t.Fatalf("%s has no form: %d\n%s", path, page.status, page.text)
	}
	form.Set("why", "because")
	path, _, _ = strings.Cut(path, "?")
	return b.send(path, form)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
