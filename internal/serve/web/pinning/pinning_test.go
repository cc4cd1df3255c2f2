package pinning_test

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
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/session"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/serve/web/pinning"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const (
	controlPlane = "https://git.example.com/acme/control-plane"
	newest       = "1111111111111111111111111111111111111111"
	before       = "2222222222222222222222222222222222222222"
	first        = "3333333333333333333333333333333333333333"
	page         = "/environments/dev/targets/hello-web"
)

// world is a server with the target hello-web in dev, which has three revisions. What proposing does is tested in package wiring.
type world struct {
	*testing.T
	ledger *sqlite.Ledger
	guard  *access.Guard
	server *httptest.Server
	log    bytes.Buffer
	// asked are the requests so far. refuses is the answer to the next ones; nil proposes.
	asked   []deliver.PinTargetsRequest
	by      string
	refuses error
	// files are those of the revisions, the newest first; nil if each has its own.
	files []string
	// changes are in the plan of the pull request.
	changes []deliver.TargetChange
	// replaced is the request for the target that the open pull request 6 has; nil without one.
	replaced *deliver.PinnedTarget
	refusals []string
}

// ControlPlanes implements [query.Fleet].
func (w *world) ControlPlanes() []query.ControlPlane {
	return []query.ControlPlane{{
		URL: controlPlane, Promotion: &promote.Outcome{Subject: controlPlane, Environments: []promote.Standing{{Environment: "dev"}}},
		Applications: []*query.Application{{
			Name: "hello", Subject: "https://git.example.com/acme/hello#hello", ControlPlane: controlPlane, Environments: []query.ApplicationEnvironment{{Environment: "dev"}},
		}},
	}}
}

// Revisions implements [query.Histories].
func (w *world) Revisions(context.Context, *query.Application, deliver.PastRequest) (*deliver.TargetPast, error) {
	p := &deliver.TargetPast{}
	for i, commit := range []string{newest, before, first} {
		p.Revisions = append(p.Revisions, deliver.Revision{Merge: deliver.Merge{Commit: commit, Current: i == 0, Build: deliver.Build{Version: "1." + commit[:1]}}, Files: commit})
		if w.files != nil {
			p.Revisions[i].Files = w.files[i]
		}
	}
	return p, nil
}

// Versions implements [query.Histories].
func (w *world) Versions(context.Context, *query.Application, deliver.PastRequest) (*deliver.EnvironmentPast, error) {
	return &deliver.EnvironmentPast{}, nil
}

// PinTargets implements [api.Targets].
func (w *world) PinTargets(_ context.Context, _ *query.Application, r deliver.PinTargetsRequest, who access.Identity) (*deliver.RequestedPins, error) {
	w.asked, w.by = append(w.asked, r), who.Name
	if w.refuses != nil {
		return nil, w.refuses
	}
	o := &deliver.Outcome{Draft: &deliver.Draft{Plan: &deliver.Plan{Targets: w.changes, Counts: plan.Counts{Changed: 1}, Refusals: w.refusals}}}
	if len(w.refusals) > 0 {
		o.Draft.Plan.Approval = "add the label kalypso/allow-deletions"
	}
	to := deliver.PinnedTo{Environment: "dev", Target: "web", Pin: tree.Pin{Revision: r.Like.Revision, Uninstalled: r.Like.Uninstall}}
	result := deliver.RequestedPin{PinnedTo: to, Result: deliver.PinProposed, Replaces: w.replaced}
	switch {
	case w.replaced != nil && to.Pin.IsZero():
		result.Result, o.Withdrawn = deliver.PinWithdrawn, &forge.PullRequest{Number: 6, Title: "dev: uninstall hello web"}
	case w.replaced != nil && r.Preview:
		o.PullRequest = &forge.PullRequest{Number: 6, Title: "dev: uninstall hello web"}
	case !r.Preview:
		o.PullRequest, o.Did = &forge.PullRequest{Number: 7, Title: "dev: a change", URL: "https://git.example.com/pulls/7"}, []string{"opened pull request 7"}
	}
	return &deliver.RequestedPins{
		Targets: []deliver.RequestedPin{result}, Environments: []string{"dev"}, Outcomes: map[string]*deliver.Outcome{"dev": o},
	}, nil
}

func newWorld(t *testing.T) *world {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	w := &world{T: t, ledger: l, guard: &access.Guard{Store: l}, changes: []deliver.TargetChange{{
		Name: "web", Op: plan.Changed, Objects: []deliver.ObjectChange{{Op: plan.Changed, Kind: "Deployment", Name: "web<b>"}},
		Values: []deliver.ValueChange{{Key: "replicas", Old: new("5"), New: new("3")}, {Key: "token", New: new("")}},
	}}}
	w.must(err)
	t.Cleanup(func() { _ = l.Close() })
	at := time.Now().Add(-time.Hour)
	w.must(l.RecordCommit(t.Context(), ledger.Commit{
		Repository: "https://git.example.com/acme/hello-gitops", Branch: "dev", SHA: newest, Kind: ledger.BranchApplication, Environment: "dev", Committed: at, Recorded: at,
		Versions: []ledger.Version{{Workload: "hello", Target: "hello-web", Environment: "dev", Path: "web", Version: "1.1"}},
	}))
	mux := http.NewServeMux()
	w.server = httptest.NewServer(mux)
	t.Cleanup(w.server.Close)
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	sessions, err := session.New(session.Options{Guard: w.guard, Key: secret.New("a key"), URL: w.server.URL, Log: log})
	w.must(err)
	w.guard.Others = []access.Authenticator{sessions}
	observer := &query.Observer{Ledger: l, Fleet: w, Histories: w, Now: time.Now}
	operations := &api.Server{Observer: observer, Control: &promote.Control{Ledger: l}, Guard: w.guard, Ledger: l, Events: &api.Events{}, Log: log, Targets: w}
	pages := &web.Pages{Observer: observer, Guard: w.guard, Log: log, SignIn: session.SignInPath}
	pages.Register(mux)
	sessions.Register(mux)
	(&pinning.Handlers{Pages: pages, Forms: sessions, API: operations.Handler(), Log: log}).Register(mux)
	mux.HandleFunc("GET /told", func(rw http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(rw, sessions.Told(rw, r)) })
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// browser returns a browser that is signed in with a role; an anonymous one without a role.
func (w *world) browser(role access.Role) *http.Client {
	w.Helper()
	jar, err := cookiejar.New(nil)
	w.must(err)
	b := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if role != "" {
		token := access.NewToken(role)
		w.must(w.ledger.PutToken(w.Context(), ledger.Token{ID: string(role), Hash: access.Hash(token), Role: string(role), Description: "ada", Created: time.Now()}))
		_, text, _ := w.see(b, "/-/sign-in")
		form := fields(text)
		form.Set("token", token.Reveal())
		if status, _, _ := w.send(b, "/-/sign-in", form); status != http.StatusSeeOther {
			w.Fatalf("sign in: got %d", status)
		}
	}
	return b
}

func (w *world) see(b *http.Client, path string) (status int, text, to string) {
	w.Helper()
	return w.read(b.Get(w.server.URL + path))
}

func (w *world) send(b *http.Client, path string, form url.Values) (status int, text, to string) {
	w.Helper()
	return w.read(b.PostForm(w.server.URL+path, form))
}

func (w *world) read(a *http.Response, err error) (int, string, string) {
	w.Helper()
	w.must(err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	w.must(err)
	return a.StatusCode, string(text), a.Header.Get("Location")
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// fields are those that the form of a page carries.
func fields(text string) url.Values {
	_, form, _ := strings.Cut(text, `method="post"`)
	values := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(form, -1) {
		values.Set(field[1], field[2])
	}
	return values
}

// TestConfirmedActionsOpenPullRequests: each page shows its plan, and its form opens the pull request in the name of the user.
func TestConfirmedActionsOpenPullRequests(t *testing.T) {
	for path, want := range map[string]struct {
		shows string
		like  deliver.PinRequest
	}{
		"/rollback":                   {`2222222</code> <strong>1.2</strong>`, deliver.PinRequest{Environment: "dev", Revision: before}},
		"/rollback?revision=" + first: {`3333333</code> <strong>1.3</strong>`, deliver.PinRequest{Environment: "dev", Revision: first}},
		"/uninstall":                  {"removes everything this target runs", deliver.PinRequest{Environment: "dev", Uninstall: true}},
		"/deploy?controlPlane=" + url.QueryEscape(controlPlane): {"follows its environment again", deliver.PinRequest{Environment: "dev"}},
	} {
		t.Run(path, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser(access.Operator)
			status, text, _ := w.see(b, page+path)
			for _, part := range []string{want.shows, "Deployment web&lt;b&gt;", "<del>5</del> → <ins>3</ins>", `not set</span> → <ins>&#34;&#34;</ins>`, "Open pull request"} {
				if status != http.StatusOK || !strings.Contains(text, part) {
					t.Errorf("got %d without %q:\n%s", status, part, text)
				}
			}
			form := fields(text)
			form.Set("why", "because")
			action, _, _ := strings.Cut(path, "?")
			status, text, to := w.send(b, page+action, form)
			if status != http.StatusSeeOther || !strings.HasPrefix(to, page) {
				t.Fatalf("got %d to %q:\n%s", status, to, text)
			}
			last := w.asked[len(w.asked)-1]
			if last.Preview || !reflect.DeepEqual(last.Like, want.like) || last.Targets[0] != "web" || w.by != "ada" {
				t.Errorf("asked %+v by %q", last, w.by)
			}
			if _, told, _ := w.see(b, "/told"); told != "Pull request #7 is open: dev: a change. It takes effect when it is merged." {
				t.Errorf("it says %q", told)
			}
			trail, err := w.ledger.AuditEntries(t.Context(), ledger.AuditQuery{Limit: 10})
			w.must(err)
			if len(trail) != 1 || !strings.HasPrefix(trail[0].By, "ada") || trail[0].Subject != "dev" || !strings.Contains(trail[0].Detail, `targets="web"`) || !strings.Contains(trail[0].Detail, `why="because"`) {
				t.Errorf("the audit trail has %+v", trail)
			}
		})
	}
}

// A request can be taken back before its pull request is merged, and another one says which request it replaces.
func TestOpenRequestsAreReplaced(t *testing.T) {
	w := newWorld(t)
	b := w.browser(access.Operator)
	w.replaced = &deliver.PinnedTarget{Name: "web", Pin: tree.Pin{Uninstalled: true}, Request: tree.Request{By: "bob<b>", At: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)}}
	w.refusals = []string{"the only target would be removed"}
	_, text, _ := w.see(b, page+"/rollback")
	for _, part := range []string{"uninstalled, requested by bob&lt;b&gt;", "2026-11-22", "Update pull request", "the label kalypso/allow-deletions"} {
		if !strings.Contains(text, part) {
			t.Errorf("a rollback does not say %q:\n%s", part, text)
		}
	}
	w.refusals, w.changes = nil, nil
	_, text, _ = w.see(b, page+"/deploy")
	for _, part := range []string{"uninstalled, requested by bob&lt;b&gt;", "#6 dev: uninstall hello web, which is closed", "Close pull request"} {
		if !strings.Contains(text, part) {
			t.Errorf("deploy does not say %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "requested already") {
		t.Error("it says that there is nothing to change")
	}
	seen := fields(text)
	w.replaced.By = "cyd"
	if status, text, _ := w.send(b, page+"/deploy", seen); status != http.StatusConflict || !strings.Contains(text, "requested by cyd") {
		t.Errorf("another request was replaced: got %d\n%s", status, text)
	}
	_, text, _ = w.see(b, page+"/deploy")
	if status, text, _ := w.send(b, page+"/deploy", fields(text)); status != http.StatusSeeOther {
		t.Fatalf("got %d\n%s", status, text)
	}
	if _, told, _ := w.see(b, "/told"); told != "Pull request #6 is closed: nothing was left in it." {
		t.Errorf("it says %q", told)
	}
}

// A rollback goes back to the newest revision before the target had the files that it has now.
func TestRollbackDoesNotReturnToWhatItLeft(t *testing.T) {
	w := newWorld(t)
	b := w.browser(access.Operator)
	w.files = []string{"same", "same", "older"}
	if _, text, _ := w.see(b, page+"/rollback"); !strings.Contains(text, "3333333</code> <strong>") || strings.Contains(text, "2222222") {
		t.Errorf("it does not skip the revision with the same files:\n%s", text)
	}
	w.files = []string{"first", "left", "first"}
	if _, text, _ := w.see(b, page+"/rollback"); !strings.Contains(text, "No earlier revision has other files.") || !strings.Contains(text, "rollback?revision="+before) || strings.Contains(text, "csrf") {
		t.Errorf("it proposes a revision:\n%s", text)
	}
}

// TestConfirmationsRefuse: nothing is proposed without the right, the form of the session, or a look at what is proposed.
func TestConfirmationsRefuse(t *testing.T) {
	w := newWorld(t)
	operator := w.browser(access.Operator)
	_, text, _ := w.see(operator, page+"/uninstall")
	good := fields(text)
	if status, _, to := w.see(w.browser(""), page+"/uninstall"); status != http.StatusSeeOther || !strings.HasPrefix(to, "/-/sign-in?to=") {
		t.Errorf("an anonymous user: got %d to %q", status, to)
	}
	reader := w.browser(access.Reader)
	if status, text, _ := w.see(reader, page+"/uninstall"); status != http.StatusForbidden || strings.Contains(text, "csrf") {
		t.Errorf("a reader: got %d", status)
	}
	for name, c := range map[string]struct {
		path   string
		form   url.Values
		status int
		change func()
	}{
		"no token":           {"/uninstall", url.Values{"seen": good["seen"]}, http.StatusForbidden, nil},
		"an unknown target":  {"-other/uninstall", good, http.StatusNotFound, nil},
		"another plan":       {"/uninstall", good, http.StatusConflict, func() { w.changes = append(w.changes, deliver.TargetChange{Name: "other", Op: plan.Removed}) }},
		"other open changes": {"/deploy", good, http.StatusConflict, func() { w.refuses = &api.SettingError{Status: http.StatusConflict, Next: "merge it", Err: io.EOF} }},
		"the current revision": {"/rollback", good, http.StatusConflict, func() {
			w.refuses = &api.SettingError{Status: http.StatusUnprocessableEntity, Next: "choose", Err: io.EOF}
		}},
	} {
		changes := w.changes
		if c.change != nil {
			c.change()
		}
		if status, text, _ := w.send(operator, page+c.path, c.form); status != c.status {
			t.Errorf("%s: got %d, want %d\n%s", name, status, c.status, text)
		}
		w.changes, w.refuses = changes, nil
	}
	large := url.Values{"csrf": good["csrf"], "why": {strings.Repeat("x", 20<<10)}}
	if status, text, _ := w.send(operator, page+"/uninstall", large); status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "The form has more than 16 KiB.") {
		t.Errorf("too large a form: got %d\n%s", status, text)
	}
	if status, _, _ := w.send(reader, page+"/uninstall", good); status != http.StatusForbidden {
		t.Errorf("the form of another session: got %d", status)
	}
	for _, asked := range w.asked {
		if !asked.Preview {
			t.Errorf("it was proposed: %+v", asked)
		}
	}
}
