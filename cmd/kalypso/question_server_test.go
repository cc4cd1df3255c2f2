package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// questioned is a server on a ledger with facts, and the commands that ask either.
type questioned struct {
	*testing.T
	ledger ledger.Ledger
	file   string
	url    string
	token  secret.Value
	events *api.Events
	fleet  *fakeFleet
}

// fakeFleet is what the last rounds found.
type fakeFleet struct{ found []query.ControlPlane }

func (f *fakeFleet) ControlPlanes() []query.ControlPlane { return f.found }

// facts are those of the scripts, in which they can be read beside what is made of them.
func facts(t *testing.T) string {
	t.Helper()
	script, err := txtar.ParseFile("testdata/script/status_ledger.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range script.Files {
		if f.Name == "facts.jsonl" {
			return string(f.Data)
		}
	}
	t.Fatal("the script has no facts")
	return ""
}

func newQuestioned(t *testing.T) *questioned {
	t.Helper()
	q := &questioned{T: t, file: filepath.Join(t.TempDir(), "ledger.db"), events: &api.Events{}, fleet: &fakeFleet{}}
	var err error
	if q.ledger, err = open.Ledger(t.Context(), q.file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.ledger.Close() })
	if err := ledger.Import(t.Context(), q.ledger, strings.NewReader(facts(t))); err != nil {
		t.Fatal(err)
	}
	if q.token, err = access.Bootstrap(t.Context(), q.ledger, secret.Value{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	registrar := backend.NewRegistrar(q.ledger)
	server := httptest.NewServer((&api.Server{
		Observer:  &query.Observer{Ledger: q.ledger, Fleet: q.fleet, Now: time.Now},
		Control:   &promote.Control{Ledger: q.ledger},
		Intake:    &ingest.Intake{Ledger: q.ledger},
		Registrar: &registrar,
		Guard:     &access.Guard{Store: q.ledger},
		Ledger:    q.ledger, Events: q.events, Log: slog.New(slog.DiscardHandler),
	}).Handler())
	t.Cleanup(server.Close)
	t.Cleanup(q.events.Close) // before the server, which waits for its listeners
	q.url = server.URL
	return q
}

// run runs a command against the server, as whoever has a token.
func (q *questioned) run(token secret.Value, args ...string) (code int, stdout, stderr string) {
	q.Helper()
	return q.runWith(q.Context(), []string{backend.EnvServer + "=" + q.url, backend.EnvToken + "=" + token.Reveal()}, args...)
}

func (q *questioned) runWith(ctx context.Context, env []string, args ...string) (code int, stdout, stderr string) {
	q.Helper()
	var out, err bytes.Buffer
	env = append(env, "HOME="+q.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
	code = run(ctx, args, env, strings.NewReader(""), &out, &err)
	if strings.Contains(out.String()+err.String(), q.token.Reveal()) {
		q.Errorf("%s shows the token", strings.Join(args, " "))
	}
	return code, out.String(), err.String()
}

// nextTime is when an answer may be another one, which goes on with the clock while the cluster's is ahead.
var nextTime = regexp.MustCompile(`"next": "20[^"]+"`)

// TestServerAndLedgerSayTheSame asks both the same questions.
func TestServerAndLedgerSayTheSame(t *testing.T) {
	q := newQuestioned(t)
	for _, command := range []string{
		"status", "promote", "compare dev prod", "compare dev prod --as-of 2025-03-03T09:30:00Z",
		"history environment prod --to 2025-03-03T12:00:00Z", "history environment prod --limit 2", "history workload hello-world-app -e dev",
		"history cluster large-03 --from 2025-03-02", "history environment dev --as-of 2025-03-03T09:30:00Z",
		"history cluster large-03 --as-of 2025-03-02T12:05:30Z", "history workload hello-world-app --as-of 2025-03-03T09:30:00Z",
		"cluster list", "cluster list -e prod --type large --state failed", "cluster list --label region=west-us --limit 1", "cluster show large-03",
		"wait -e dev --commit 2222222", "wait -e prod", "token list",
	} {
		t.Run(command, func(t *testing.T) {
			for _, format := range []string{"json", "text"} {
				args := append(strings.Fields(command), "-o", format)
				wantCode, want, wantErr := q.runWith(t.Context(), []string{backend.EnvLedger + "=" + q.file}, args...)
				code, got, gotErr := q.run(q.token, args...)
				if code != wantCode || gotErr != wantErr {
					t.Errorf("the server: exit code %d, %q; the ledger: %d, %q", code, gotErr, wantCode, wantErr)
				}
				if diff := cmp.Diff(nextTime.ReplaceAllString(want, "later"), nextTime.ReplaceAllString(got, "later")); diff != "" {
					t.Errorf("(-ledger +server):\n%s", diff)
				}
				if strings.TrimSpace(got) == "" {
					t.Error("neither says anything")
				}
			}
		})
	}
}

// The timeout ends a wait for a server that never answers.
func TestWaitForASilentServer(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	var out, complaints bytes.Buffer
	code := run(t.Context(), []string{"wait", "-e", "dev", "--server", silent.URL, "--timeout", "50ms"}, nil, nil, &out, &complaints)
	if code != 3 || !strings.Contains(out.String(), "no answer within the timeout") || !strings.Contains(complaints.String(), "timed out after 50ms") {
		t.Errorf("exit code %d, want 3; %s%s", code, &out, &complaints)
	}
}

// TestStatusWatchesAServer shows the status again when the server tells of a change, and only then.
func TestStatusWatchesAServer(t *testing.T) {
	q := newQuestioned(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	shown := make(chan string, 10)
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"status", "--watch", "--server", q.url},
			[]string{backend.EnvToken + "=" + q.token.Reveal()}, strings.NewReader(""), lines(shown), lines(nil))
	}()
	if text := <-shown; !strings.Contains(text, "prod         1111111  failed") {
		t.Errorf("got %q", text)
	}
	if err := q.ledger.RecordStep(ctx, ledger.Step{
		PromotionID: ledger.PromotionID{Subject: "https://git.example/control-plane", Commit: strings.Repeat("2", 40), Environment: "prod"},
		Kind:        "stateChanged", Reason: "1 of 2 clusters behind", At: time.Now(), Detail: []byte(`{"phase":"applying"}`),
	}); err != nil {
		t.Fatal(err)
	}
	q.events.Publish(api.Signal{Type: api.SignalEnvironment, Environment: "prod"})
	if text := <-shown; !strings.Contains(text, "prod         2222222  applying") {
		t.Errorf("got %q", text)
	}
	stop()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d, want 0: to be stopped is a good end", got)
	}
}

// lines sends what is written; nil takes it.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	if l != nil {
		l <- string(b)
	}
	return len(b), nil
}
