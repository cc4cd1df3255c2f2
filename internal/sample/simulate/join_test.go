package simulate

import (
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// noFleet is a server that schedules nothing.
type noFleet struct{}

func (noFleet) ControlPlanes() []query.ControlPlane { return nil }

func newLedger(t *testing.T) (*sqlite.Ledger, *ingest.Registrar) {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, &ingest.Registrar{Ledger: l, NewSecret: func(role string) secret.Value { return access.NewToken(access.Role(role)) }}
}

// newServer is a real server, and a token with which clusters of type large can join dev.
func newServer(t *testing.T) (*sqlite.Ledger, *url.URL, secret.Value) {
	t.Helper()
	l, registrar := newLedger(t)
	server := &api.Server{
		Observer: &query.Observer{Ledger: l, Fleet: noFleet{}, Now: time.Now}, Control: &promote.Control{Ledger: l},
		Intake: &ingest.Intake{Ledger: l}, Registrar: registrar, Guard: &access.Guard{Store: l},
		Ledger: l, Events: &api.Events{}, Log: slog.New(slog.DiscardHandler),
	}
	web := httptest.NewServer(server.Handler())
	t.Cleanup(web.Close)
	t.Cleanup(server.Events.Close)
	address, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := registrar.CreateJoinToken(t.Context(), ingest.JoinTokenRequest{
		Scope:   ingest.JoinScope{Memberships: []ledger.Membership{{Environment: "dev", ClusterType: "large"}}},
		Expires: time.Now().Add(time.Hour),
	}, "ann", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return l, address, token
}

// shopCluster is one that the repositories of newShop are for.
func shopCluster(name string) Cluster {
	return Cluster{Name: name, Memberships: []Membership{{Environment: "dev", ClusterType: "large", GitOps: hub.Repository{Repo: host + "/gitops"}}}}
}

// runsWhat wants the ledger to know that a cluster runs the shop.
func runsWhat(t *testing.T, l *sqlite.Ledger, cluster, commit string) {
	t.Helper()
	page, err := l.States(t.Context(), ledger.StateQuery{Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, s := range page.States {
		found[s.Reconciler.Name] = string(s.State) + " " + s.Revision
	}
	if found["platform-dev-large"] != "ready "+commit || !strings.HasPrefix(found["dev-large-shop-test"], "ready ") {
		t.Errorf("%s: got %v, want both to be ready, and the platform at %s", cluster, found, commit)
	}
}

func TestClustersJoinARealServer(t *testing.T) {
	t.Parallel()
	l, address, token := newServer(t)
	w := newShop(t, Config{})
	w.now = time.Now()
	j := &Joiner{Server: address, Token: token, Dir: filepath.Join(t.TempDir(), "credentials")}
	for range 2 { // the second time it has a credential, and does not join again
		way, err := j.Register(t.Context(), shopCluster("large-07"))
		w.must(err)
		_ = w.Remove("large-07")
		w.must(w.Add(shopCluster("large-07"), way))
	}
	commit := w.more("first")
	w.pass(10 * time.Second)
	if o, err := w.Cluster("large-07"); err != nil || o.Problem != "" {
		t.Errorf("got problem %q, %v", o.Problem, err)
	}
	runsWhat(t, l, "large-07", commit)
	registered, err := l.Registrations(t.Context(), "large-07")
	if err != nil || len(registered) != 1 || registered[0].Labels["simulated"] != "true" {
		t.Errorf("got %+v, %v, want one cluster that is called simulated", registered, err)
	}
	info, err := os.Stat(filepath.Join(j.Dir, "large-07.token"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the credential: got %v, %v, want a private file", info, err)
	}
}

func TestJoinerReturnsTheErrorOfTheServer(t *testing.T) {
	t.Parallel()
	_, address, token := newServer(t)
	j := &Joiner{Server: address, Token: token, Dir: t.TempDir()}
	other := shopCluster("large-07")
	other.Memberships[0].Environment = "prod"
	for want, c := range map[string]Cluster{"prod": other, "name": {Name: "../large-07", Memberships: other.Memberships}} {
		if _, err := j.Register(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want something about %q", c.Name, err, want)
		}
	}
	j.Token = secret.New("wrong")
	if _, err := j.Register(t.Context(), shopCluster("large-08")); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong token: got %v", err)
	}
	if files, _ := os.ReadDir(j.Dir); len(files) > 0 {
		t.Errorf("got %v, want no credential of a cluster that did not join", files)
	}
}
