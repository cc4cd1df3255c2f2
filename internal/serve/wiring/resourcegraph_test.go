package wiring

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/hub/resourcegraph/resourcegraphtest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// azure is a server whose only cluster reports to Azure.
type azure struct {
	*promotionWorld
	fake   *resourcegraphtest.Server
	server *Server
	graph  *graphSource
	log    *lockedBuffer
}

// lockedBuffer is a log that is read while it is written.
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

func newAzure(t *testing.T, rules string) *azure {
	t.Helper()
	a := &azure{promotionWorld: newChainWorld(t, map[string]string{"dev": rules}), fake: resourcegraphtest.New(t), log: &lockedBuffer{}}
	secretFile := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secretFile, []byte(resourcegraphtest.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := false
	config, err := serve.ParseConfig(nil, func(c *serve.Config) {
		c.Data, c.ControlPlanes, c.LocalForge = t.TempDir(), []string{a.URL + "/" + fleettest.ControlPlane}, &none
		c.ResourceGraph = []serve.ResourceGraphConfig{{
			Subscriptions: []string{resourcegraphtest.Subscription}, Tenant: resourcegraphtest.Tenant, Client: resourcegraphtest.Client,
			SecretFile: secretFile, Endpoint: a.fake.URL, Login: a.fake.URL, Interval: metav1.Duration{Duration: time.Hour},
			Clusters: map[string]string{resourcegraphtest.ClusterID("AKS-1"): "dev-1"},
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := config.Check(); err != nil {
		t.Fatal(err)
	}
	a.server, err = New(t.Context(), Options{
		Config: config, Log: slog.New(slog.NewTextHandler(a.log, nil)), Listen: func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.server.Close)
	a.server.Flows.serveLocally(a.Host.(*local.Forge), git.Mapping{From: a.URL, To: a.Dir})
	err = a.server.Ledger.Register(t.Context(), ledger.Registration{
		Cluster: "dev-1", Memberships: []ledger.Membership{{Environment: "dev", ClusterType: "large"}}, At: fleettest.Time,
	})
	if err != nil {
		t.Fatal(err)
	}
	a.graph = a.server.graphs[0]
	t.Cleanup(func() {
		if strings.Contains(a.log.String(), "hunter2") {
			t.Error("a credential is in the log")
		}
	})
	return a
}

// run runs the server until the test ends.
func (a *azure) run() {
	ctx, stop := context.WithCancel(a.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.server.Run(ctx) }()
	a.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			a.Error(err)
		}
	})
}

// reports makes Azure say that the cluster applied a commit, a while ago.
func (a *azure) reports(commit string, ago time.Duration) {
	at := time.Now().Add(-ago).UTC().Format(time.RFC3339Nano)
	a.fake.SetRows(resourcegraphtest.Platform("aks-1", a.URL+"/"+fleettest.GitOps, "dev", "./large", commit, at))
}

// gate waits until the gate of the environment has a reason.
func (a *azure) gate(want string) {
	a.Helper()
	last := ""
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		e, err := a.server.API.Observer.Environment(a.Context(), query.EnvironmentQuery{Name: "dev"})
		if err != nil {
			last = err.Error()
			continue
		}
		if e.Gate != nil {
			if last = string(e.Gate.Result) + ": " + e.Gate.Reason; strings.Contains(last, want) {
				return
			}
		}
	}
	a.Fatalf("the gate says %q, want %q", last, want)
}

// published waits until the environment's files are merged, and returns the commit.
func (a *azure) published() string {
	a.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if a.Head(fleettest.GitOps, "dev") != "" && len(a.Files(fleettest.GitOps, "dev")) > 1 {
			return a.Head(fleettest.GitOps, "dev") // the branch may have moved before its files were read
		}
	}
	a.Fatal("nothing is published")
	return ""
}

// A cluster without an agent reaches its environment's gate through Azure.
func TestACommitReachesTheGateThroughAzure(t *testing.T) {
	t.Parallel()
	a := newAzure(t, "{}")
	a.run()
	head := a.published()
	a.gate("dev-1 has not reported yet")
	a.reports(strings.Repeat("0", 40), time.Minute)
	a.graph.poll(t.Context())
	a.gate("dev-1 is ready at 0000000")
	a.reports(head, time.Second)
	a.graph.poll(t.Context())
	a.gate("passed: 1 of 1 cluster reached it")
	if alerts := a.server.alerts(); len(alerts) > 0 {
		t.Errorf("got alerts %+v", alerts)
	}
}

// offline returns whether the cluster counts as offline.
func (a *azure) offline() bool {
	a.Helper()
	c, err := a.server.API.Observer.Cluster(a.Context(), query.ClusterQuery{Name: "dev-1"})
	if err != nil {
		a.Fatal(err)
	}
	return c.Offline
}

func TestAzureThatCannotBeReadMakesNothingOffline(t *testing.T) {
	t.Parallel()
	a := newAzure(t, "{}")
	// It reported before the server was restarted an hour ago.
	if err := a.server.Ledger.Heard(t.Context(), "dev-1", time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	a.fake.Intercept(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true })
	for range 2 {
		a.graph.poll(t.Context())
	}
	if a.offline() {
		t.Error("a cluster is offline, although Azure cannot be read")
	}
	alerts := a.server.alerts()
	if len(alerts) != 1 || alerts[0].What != "Azure Resource Graph (azure) cannot be read" || !strings.Contains(alerts[0].Why, "needs the role Reader") || alerts[0].Since.IsZero() {
		t.Errorf("got alerts %+v", alerts)
	}
	if h := a.server.health(); len(h.Warnings) != 1 || len(h.Unready) > 0 {
		t.Errorf("got health %+v", h)
	}
	if n := strings.Count(a.log.String(), "cannot be read"); n != 1 {
		t.Errorf("the log says it %d times, want once", n)
	}
	// Read again, Azure says that the cluster was silent for an hour.
	a.fake.Intercept(nil)
	a.reports(strings.Repeat("1", 40), time.Hour-time.Minute)
	a.graph.poll(t.Context())
	if !a.offline() || len(a.server.alerts()) > 0 {
		t.Errorf("offline %v, alerts %+v, want an offline cluster and no alert", a.offline(), a.server.alerts())
	}
}

func TestProblemsOfAzureAreListed(t *testing.T) {
	t.Parallel()
	a := newAzure(t, "{}")
	a.fake.SetRows(
		resourcegraphtest.Platform("stranger", "https://git.example.com/x", "dev", ".", strings.Repeat("1", 40), "2026-11-20T10:00:00Z"),
		resourcegraphtest.Platform("aks-1", a.URL+"/"+fleettest.GitOps, "dev", "large", strings.Repeat("1", 40), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)),
	)
	a.graph.poll(t.Context())
	alerts := a.server.alerts()
	if len(alerts) != 2 || !strings.Contains(alerts[0].What, "1 resource is not used as reports: fleet/stranger") || !strings.Contains(alerts[1].Why, "from the future") {
		t.Errorf("got alerts %+v", alerts)
	}
	a.graph.poll(t.Context())
	if n := strings.Count(a.log.String(), "stranger"); n != 1 {
		t.Errorf("the log names it %d times, want once", n)
	}
}

func TestTheIdentityOfAzureIsRequired(t *testing.T) {
	t.Parallel()
	a := newAzure(t, "{}")
	for name, c := range map[string]serve.ResourceGraphConfig{
		"no tenant":     {Subscriptions: []string{resourcegraphtest.Subscription}, SecretFile: "x"},
		"no credential": {Subscriptions: []string{resourcegraphtest.Subscription}, Tenant: resourcegraphtest.Tenant, Client: resourcegraphtest.Client},
	} {
		if _, err := a.server.newGraphSource(&c); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	a.server.Env = map[string]string{
		"AZURE_TENANT_ID": resourcegraphtest.Tenant, "AZURE_CLIENT_ID": resourcegraphtest.Client,
		"AZURE_FEDERATED_TOKEN_FILE": filepath.Join(t.TempDir(), "token"), "AZURE_AUTHORITY_HOST": a.fake.URL + "/",
	}
	file := a.server.Env["AZURE_FEDERATED_TOKEN_FILE"]
	if err := os.WriteFile(file, []byte(resourcegraphtest.Assertion), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := a.server.newGraphSource(&serve.ResourceGraphConfig{Subscriptions: []string{resourcegraphtest.Subscription}, Endpoint: a.fake.URL})
	if err != nil {
		t.Fatal(err)
	}
	if g.poll(t.Context()); g.failing() {
		t.Errorf("with a workload identity: %v", g.err)
	}
}
