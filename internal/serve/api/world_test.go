package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const (
	controlPlane = "https://git.example.com/acme/control-plane"
	gitOps       = "https://git.example.com/acme/platform-gitops"
)

// world is a server over a real ledger, as somebody on the network sees it.
type world struct {
	// replicas are the servers that share the ledger.
	replicas []ledger.Replica
	t        testing.TB
	ledger   *sqlite.Ledger
	server   *api.Server
	url      string
	tokens   map[access.Role]string
	log      *lockedBuffer
	spoken   []string
}

// fleet is what the rounds of a server would know.
type fleet []query.ControlPlane

func (f fleet) ControlPlanes() []query.ControlPlane { return f }

// commit is a full hash that begins with a digit.
func commit(digit string) string { return strings.Repeat(digit, 40) }

// hello is an application after a round.
func hello() *query.Application {
	const source = "https://git.example.com/acme/hello"
	return query.Delivered(query.Round{
		ControlPlane: controlPlane, Request: deliver.Request{Source: source, Workload: "hello", Workspace: "shop"}, At: time.Now(),
		Found: &deliver.Delivered{
			App:     &deliver.Application{Source: schedule.Input{Commit: commit("e")}},
			Commits: []promote.Commit{{SHA: commit("e"), Subject: "Greet more warmly"}},
			Builds:  map[string]deliver.Build{commit("e"): {Commit: commit("e"), Version: "1.4.0", Image: "1.4.0"}},
			Environments: map[string]*deliver.Outcome{"dev": {GitOps: &deliver.GitOps{GitOpsBranch: schedule.GitOpsBranch{
				Location: schedule.Location{Repo: "https://git.example.com/acme/hello-gitops", Branch: "dev"}, Head: schedule.Head{Commit: commit("f")},
			}}}},
			Promotion: &promote.Outcome{Environments: []promote.Standing{{
				Environment: "dev", Phase: decide.Applying, Commit: commit("e"), Reason: "waits: 1 of 2 reconcilers are behind", Targets: []decide.RollbackTarget{{Commit: commit("1"), Good: true}},
			}}},
		},
	}, nil)
}

// ringed is an environment with two rings.
func ringed() promote.Standing {
	ring := func(name, ring, sha string) promote.RingStanding {
		return promote.RingStanding{Name: name, Ring: ring, Branch: "stage-ring-" + name, Clusters: 1, Commit: sha, Phase: decide.Good, Targets: []decide.RollbackTarget{{Commit: commit("d"), Good: ring == "canary"}}}
	}
	return promote.Standing{
		Environment: "stage", Commit: commit("c"), GitOps: promote.GitOps{Repo: "https://git.example.com/gitops", Branch: "stage"},
		Rings: []promote.RingStanding{ring("canary", "canary", commit("2")), ring("others.0", "others", commit("1")), ring("others.1", "others", commit("1"))},
	}
}

func newWorld(t testing.TB) *world {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &world{t: t, ledger: l, tokens: map[access.Role]string{}, log: &lockedBuffer{}}
	require := intstr.FromString("90%")
	rules := &v1alpha1.Promotion{
		Soak: &metav1.Duration{Duration: time.Hour}, Gate: &v1alpha1.Gate{Require: &require, Timeout: &metav1.Duration{Duration: time.Hour}},
	}
	known := fleet{
		{URL: controlPlane, Promotion: &promote.Outcome{
			Subject: controlPlane, Environments: []promote.Standing{{Environment: "dev", Commit: commit("c"), Rules: rules, Targets: []decide.RollbackTarget{{Commit: commit("b"), Why: "it failed"}, {Commit: commit("a"), Good: true}}}, {Environment: "prod"}, ringed()},
		}, Applications: []*query.Application{hello()}},
		{URL: controlPlane + "-2", Promotion: &promote.Outcome{
			Subject: controlPlane + "-2", Environments: []promote.Standing{{Environment: "prod"}},
		}},
	}
	clusters := secret.New("a secret of the server that is long enough")
	w.server = &api.Server{
		Observer: &query.Observer{Ledger: l, Fleet: known, Now: time.Now}, Control: &promote.Control{Ledger: l},
		Intake:    &ingest.Intake{Ledger: l},
		Registrar: &ingest.Registrar{Ledger: l, NewSecret: func(role string) secret.Value { return access.NewToken(access.Role(role)) }},
		Guard:     &access.Guard{Store: l, Others: []access.Authenticator{api.FluxSignature{Secret: clusters, Clusters: l}}},
		Ledger:    l, Events: &api.Events{}, Log: slog.New(slog.NewTextHandler(w.log, nil)), FluxSecret: clusters,
		Replicas:      func() (string, []ledger.Replica) { return "a", w.replicas },
		OnCommand:     func(controlPlane, environment string) { w.spoken = append(w.spoken, controlPlane+" "+environment) },
		OnApplication: func(controlPlane, subject string) { w.spoken = append(w.spoken, controlPlane+" "+subject) },
	}
	w.joinReplicas(l)
	h := httptest.NewServer(w.server.Handler())
	t.Cleanup(h.Close)
	t.Cleanup(w.server.Events.Close)
	w.url = h.URL
	for _, role := range []access.Role{access.Reader, access.Operator, access.Admin} {
		w.tokens[role] = w.store(ledger.Token{ID: string(role), Description: string(role), Role: string(role)}, role)
	}
	return w
}

// joinReplicas makes the ledger shared by two servers, of which the first answers.
func (w *world) joinReplicas(l ledger.Replicas) {
	w.t.Helper()
	for _, id := range []string{"a", "b"} {
		if err := l.Join(w.t.Context(), ledger.Replica{ID: id, Name: "server-" + id}, time.Hour, false); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, unit := range []string{"environment dev", "chain"} {
		if _, err := l.ClaimUnit(w.t.Context(), "a", unit); err != nil {
			w.t.Fatal(err)
		}
	}
	var err error
	if w.replicas, err = l.Renew(w.t.Context(), "a", time.Hour); err != nil {
		w.t.Fatal(err)
	}
}

// store puts a token into the ledger.
func (w *world) store(t ledger.Token, role access.Role) string {
	w.t.Helper()
	token := access.NewToken(role)
	t.Hash, t.Created = access.Hash(token), time.Now()
	if err := w.ledger.PutToken(w.t.Context(), t); err != nil {
		w.t.Fatal(err)
	}
	return token.Reveal()
}

// register makes a cluster, and returns what it reports with.
func (w *world) register(name string, memberships ...ledger.Membership) string {
	w.t.Helper()
	credential := access.NewToken(access.Cluster)
	r := ledger.Registration{Cluster: name, Memberships: memberships, CredentialHash: access.Hash(credential), At: time.Now().Add(-time.Hour)}
	if err := w.ledger.Register(w.t.Context(), r); err != nil {
		w.t.Fatal(err)
	}
	return credential.Reveal()
}

// asked is an answer.
type asked struct {
	status int
	header http.Header
	body   []byte
}

// call asks with a token, a body where there is one, and headers in pairs.
func (w *world) call(method, path, token string, body any, headers ...string) asked {
	w.t.Helper()
	var sent io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		sent = bytes.NewReader(b)
	case string:
		sent = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, sent)
	if err != nil {
		w.t.Fatal(err)
	}
	if sent != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return asked{response.StatusCode, response.Header, text}
}

func (w *world) get(path string, headers ...string) asked {
	w.t.Helper()
	return w.call(http.MethodGet, path, w.tokens[access.Admin], nil, headers...)
}

func (w *world) post(path, token string, body any, headers ...string) asked {
	w.t.Helper()
	return w.call(http.MethodPost, path, token, body, headers...)
}

// decode reads the answer, whose status has to be the one wanted.
func decode[T any](t testing.TB, a asked, status int) T {
	t.Helper()
	var v T
	if a.status != status {
		t.Fatalf("got %d, want %d: %s", a.status, status, a.body)
	}
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return v
}

// wantProblem wants a complete problem of a status.
func wantProblem(t testing.TB, a asked, status int) api.Problem {
	t.Helper()
	p := decode[api.Problem](t, a, status)
	if a.header.Get("Content-Type") != "application/problem+json" || p.Status != status || p.Title == "" || p.Detail == "" ||
		p.Instance != a.header.Get("X-Request-Id") {
		t.Errorf("the problem is not complete: %s %s", a.header.Get("Content-Type"), a.body)
	}
	return p
}

// lockedBuffer is a log that several write to.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// forgetful is a ledger that cannot record who asked for what.
type forgetful struct{ *sqlite.Ledger }

func (forgetful) RecordAudit(context.Context, ledger.AuditEntry) error {
	return errors.New("the disk is full")
}
