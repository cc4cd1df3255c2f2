package wiring

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/agent/direct"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

const (
	// directTargets are the folders of the applications' repository; clusters run the first.
	directTargets = 100
	// directObjects are the objects of a target.
	directObjects = 20
	directApp     = "t-000"
)

// directFleet is a running server, and clusters without a reconciler whose agents ask it. Only the API servers of the clusters are simulated.
type directFleet struct {
	*fleettest.Fleet
	server *Server
	url    *url.URL
	// requests and received count what agents sent and got, in bytes, and applied their requests to API servers.
	requests, received, applied atomic.Int64

	mu      sync.Mutex
	ready   map[string]map[string]bool // the clusters that reported a commit
	commit  string
	awaited int
	reached chan struct{} // closed when as many as awaited have reported the commit
}

func newDirectFleet(b *testing.B) *directFleet {
	b.Helper()
	f, host := fleettest.NewLocal(b)
	d := &directFleet{Fleet: f, ready: map[string]map[string]bool{}}
	for _, name := range []string{"control-plane", "gitops", "shop", "apps"} {
		f.Create(name)
	}
	repo := func(name string) string { return f.URL + "/platform/" + name }
	apps := map[string]string{}
	for n := range directTargets {
		apps[fmt.Sprintf("t-%03d/all.yaml", n)] = directManifests(n, "1")
	}
	f.Push("platform/apps", "main", apps)
	f.Push("platform/gitops", "dev", map[string]string{"README.md": "generated\n"})
	f.Push("platform/shop", "main", map[string]string{"workload.yaml": kalypsoAPI + "kind: Workload\nmetadata: {name: shop}\nspec:\n  deploymentTargets:\n  - {name: live, environment: dev, manifests: {repo: " +
		repo("apps") + ", branch: main, path: ./" + directApp + "}}\n"})
	f.Push(fleettest.ControlPlane, "main", map[string]string{
		"environment.yaml": kalypsoAPI + "kind: Environment\nmetadata: {name: dev}\nspec: {controlPlane: {repo: " + repo("control-plane") + ", branch: dev, path: .}}\n",
		"shop.yaml":        kalypsoAPI + "kind: WorkloadRegistration\nmetadata: {name: shop}\nspec: {workspace: shops, workload: {repo: " + repo("shop") + ", branch: main, path: .}}\n",
	})
	f.Push(fleettest.ControlPlane, "dev", map[string]string{
		"base.yaml":   kalypsoAPI + "kind: BaseRepo\nmetadata: {name: main}\nspec: {repo: " + repo("control-plane") + ", branch: main, path: .}\n",
		"gitops.yaml": kalypsoAPI + "kind: GitOpsRepo\nmetadata: {name: gitops}\nspec: {repo: " + repo("gitops") + ", branch: dev, path: ., autoMerge: true}\n",
		"type.yaml":   kalypsoAPI + "kind: ClusterType\nmetadata: {name: edge}\nspec: {reconciler: direct, namespaceService: default}\n",
		"policy.yaml": ringsPolicy,
	})
	none := false
	config, err := serve.ParseConfig(nil, func(c *serve.Config) {
		c.Data, c.ControlPlanes, c.LocalForge = b.TempDir(), []string{repo("control-plane")}, &none
		c.Poll.Duration = 5 * time.Second
	})
	if err != nil {
		b.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	d.server, err = New(b.Context(), Options{Config: config, Log: slog.New(slog.DiscardHandler), Listen: func() (net.Listener, error) { return listener, nil }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(d.server.Close)
	d.server.Flows.serveLocally(host, git.Mapping{From: f.URL, To: f.Dir})
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.server.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	if d.url, err = url.Parse("http://" + listener.Addr().String()); err != nil {
		b.Fatal(err)
	}
	return d
}

// directManifests are the objects of a target, as large as small Deployments.
func directManifests(target int, value string) string {
	var text strings.Builder
	for n := range directObjects {
		fmt.Fprintf(&text, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: object-%02d\n  labels: {app.kubernetes.io/name: shop, app.kubernetes.io/instance: live-%d, app.kubernetes.io/managed-by: kalypso}\ndata:\n", n, target)
		for line := range 20 {
			fmt.Fprintf(&text, "  setting-%02d: the value %d of target %d is %d\n", line, line, target, (n+1)*(line+1)*(target+7)%9973)
		}
		fmt.Fprintf(&text, "  version: %q\n---\n", value)
	}
	return text.String()
}

// RoundTrip counts what agents send and receive.
func (d *directFleet) RoundTrip(r *http.Request) (*http.Response, error) {
	d.requests.Add(1)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		response.Body = &countedBody{response.Body, &d.received}
	}
	return response, err
}

type countedBody struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// edge is a cluster without a reconciler.
type edge struct {
	name, token, dir string
	api              *edgeAPI
}

// add registers a cluster.
func (d *directFleet) add(b *testing.B, name, dir string) *edge {
	b.Helper()
	credential := access.NewToken(access.Cluster)
	err := d.server.Ledger.Register(b.Context(), ledger.Registration{
		Cluster: name, CredentialHash: access.Hash(credential), Memberships: []ledger.Membership{{Environment: "dev", ClusterType: "edge"}}, At: time.Now(),
	})
	if err != nil {
		b.Fatal(err)
	}
	e := &edge{name: name, token: filepath.Join(dir, "token"), dir: dir, api: &edgeAPI{requests: &d.applied, objects: map[string]map[string]any{}}}
	if err := os.WriteFile(e.token, []byte(credential.Reveal()), 0o600); err != nil {
		b.Fatal(err)
	}
	return e
}

// start runs the agent of a cluster until the function that is returned is called.
func (d *directFleet) start(b *testing.B, e *edge) (stop func()) {
	b.Helper()
	log := slog.New(slog.DiscardHandler)
	cluster, err := direct.Connect(&rest.Config{Host: "http://" + e.name, Transport: e.api})
	if err != nil {
		b.Fatal(err)
	}
	server := &client.Client{Server: d.url, TokenFile: e.token, UserAgent: "kalypso-agent", Transport: d}
	store := &direct.Store{Dir: filepath.Join(e.dir, "direct"), Cluster: e.name, Key: d.server.API.DeliveryKey}
	deliverer := &direct.Deliverer{Store: store, Cluster: cluster, Log: log, Now: time.Now, Status: reconciler.Status}
	if err := deliverer.Open(); err != nil {
		b.Fatal(err)
	}
	a := &agent.Agent{
		Name: e.name, Server: reportingTo{server, d, e.name}, Log: log, Store: agent.Store{Dir: e.dir},
		Cluster: &direct.Watched{
			Cluster: noReconcilers{}, Deliverer: deliverer, Follower: &direct.Follower{Server: server, Store: store, Log: log, Changed: deliverer.Wake},
		},
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() { a.Run(ctx); close(ended) }()
	return func() { cancel(); <-ended }
}

// noReconcilers is a cluster without a reconciler.
type noReconcilers struct{}

var _ agent.Cluster = noReconcilers{}

func (noReconcilers) Run(ctx context.Context)  { <-ctx.Done() }
func (noReconcilers) Changed() <-chan struct{} { return nil }
func (noReconcilers) Snapshot() agent.Snapshot { return agent.Snapshot{Complete: true, Alive: true} }

// reportingTo notes which clusters have reported that the application runs a commit.
type reportingTo struct {
	*client.Client
	d    *directFleet
	name string
}

func (r reportingTo) Send(ctx context.Context, batch hub.ReportBatch) (hub.ReportReceipt, error) {
	receipt, err := r.Client.Send(ctx, batch)
	if err != nil {
		return receipt, err
	}
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	for _, one := range batch.Reports {
		if one.State != hub.StateReady || strings.HasPrefix(one.Name, "platform-") {
			continue
		}
		if r.d.ready[one.Applied] == nil {
			r.d.ready[one.Applied] = map[string]bool{}
		}
		r.d.ready[one.Applied][r.name] = true
	}
	r.d.tell()
	return receipt, err
}

// tell tells who waits that enough clusters have reported. d.mu is locked.
func (d *directFleet) tell() {
	if d.reached != nil && len(d.ready[d.commit]) >= d.awaited {
		close(d.reached)
		d.reached = nil
	}
}

// expect returns a channel that is closed when as many clusters have reported a commit.
func (d *directFleet) expect(commit string, clusters int) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	reached := make(chan struct{})
	d.commit, d.awaited, d.reached = commit, clusters, reached
	d.tell()
	return reached
}

// edgeAPI is the API server of a cluster: it stores objects.
type edgeAPI struct {
	requests *atomic.Int64 // of all clusters
	mu       sync.Mutex
	objects  map[string]map[string]any
}

// RoundTrip implements [http.RoundTripper].
func (e *edgeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	e.requests.Add(1)
	kinds := map[string]string{
		"/api/v1":                            `{"name":"configmaps","kind":"ConfigMap","namespaced":true},{"name":"namespaces","kind":"Namespace"},{"name":"serviceaccounts","kind":"ServiceAccount","namespaced":true}`,
		"/apis/rbac.authorization.k8s.io/v1": `{"name":"roles","kind":"Role","namespaced":true},{"name":"rolebindings","kind":"RoleBinding","namespaced":true}`,
	}
	if list, ok := kinds[r.URL.Path]; ok {
		return answered(r, http.StatusOK, `{"kind":"APIResourceList","apiVersion":"v1","resources":[`+list+`]}`), nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch r.Method {
	case http.MethodPatch:
		var o map[string]any
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			return nil, err
		}
		o["metadata"].(map[string]any)["uid"] = "1"
		e.objects[r.URL.Path] = o
	case http.MethodDelete:
		defer delete(e.objects, r.URL.Path)
	}
	o, ok := e.objects[r.URL.Path]
	if !ok {
		return answered(r, http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`), nil
	}
	text, err := json.Marshal(o)
	return answered(r, http.StatusOK, string(text)), err
}

func answered(r *http.Request, status int, text string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}
}

// heap returns the bytes that are in use after a collection.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkDirectClusters has 1,000 clusters without a reconciler, or DIRECT_CLUSTERS, with an application of 20 objects. It measures their first deployment, rest for
// DIRECT_REST (default: 90s, two polls), a change of the application, and how one of them catches up after a week in which there was a change every hour.
func BenchmarkDirectClusters(b *testing.B) {
	if testing.Short() {
		b.Skip("it has many agents")
	}
	count, rest := 1000, 90*time.Second
	if n, err := strconv.Atoi(os.Getenv("DIRECT_CLUSTERS")); err == nil {
		count = n
	}
	if pause, err := time.ParseDuration(os.Getenv("DIRECT_REST")); err == nil {
		rest = pause
	}
	d := newDirectFleet(b)
	stops := make([]func(), count)
	edges := make([]*edge, count)
	for n := range edges {
		dir := filepath.Join(b.TempDir(), fmt.Sprint(n))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		edges[n] = d.add(b, fmt.Sprintf("edge-%05d", n), dir)
	}
	change := func(value string) string {
		return d.Push("platform/apps", "main", map[string]string{directApp + "/all.yaml": directManifests(0, value)})
	}
	for b.Loop() {
		before := heap()
		reached, began := d.expect(d.Head("platform/apps", "main"), count), time.Now()
		for n, e := range edges {
			stops[n] = d.start(b, e)
		}
		d.wait(b, reached)
		b.ReportMetric(time.Since(began).Seconds(), "first-s")
		b.Logf("all clusters run the application after %s", time.Since(began))
		b.ReportMetric((heap()-before)/float64(count)/1e3, "kB/cluster")
		b.ReportMetric(float64(d.applied.Load())/float64(count), "first-api-requests")

		requests, received, applied := d.requests.Load(), d.received.Load(), d.applied.Load()
		time.Sleep(rest) // what is measured
		b.ReportMetric(float64(d.requests.Load()-requests)/float64(count)*float64(time.Hour)/float64(rest), "requests/cluster-h")
		b.ReportMetric(float64(d.received.Load()-received)/float64(count)*float64(time.Hour)/float64(rest)/1e3, "kB/cluster-h")
		b.ReportMetric(float64(d.applied.Load()-applied)/float64(count)*float64(time.Hour)/float64(rest), "api-requests/cluster-h")

		began = time.Now()
		reached = d.expect(change("2"), count)
		d.wait(b, reached)
		b.ReportMetric(time.Since(began).Seconds(), "change-s")
		b.Logf("all clusters run the change after %s", time.Since(began))

		for _, stop := range stops {
			stop()
		}
		clone := d.clone(b)
		for hour := range 7 * 24 {
			other := fmt.Sprintf("t-%03d/all.yaml", 1+hour%(directTargets-1))
			d.Push("platform/apps", "main", map[string]string{other: directManifests(hour, fmt.Sprint("hour ", hour)), directApp + "/all.yaml": directManifests(0, fmt.Sprint("hour ", hour))})
		}
		requests, received, began = d.requests.Load(), d.received.Load(), time.Now()
		reached = d.expect(d.Head("platform/apps", "main"), 1)
		stop := d.start(b, edges[0])
		d.wait(b, reached)
		b.ReportMetric(time.Since(began).Seconds(), "week-s")
		b.ReportMetric(float64(d.requests.Load()-requests), "week-requests")
		b.ReportMetric(float64(d.received.Load()-received)/1e3, "week-kB")
		stop()
		d.sizes(b, clone, edges[0])
	}
}

func (d *directFleet) wait(b *testing.B, reached <-chan struct{}) {
	b.Helper()
	select {
	case <-reached:
	case <-time.After(10 * time.Minute):
		d.mu.Lock()
		defer d.mu.Unlock()
		b.Fatalf("%d of %d clusters reported %s", len(d.ready[d.commit]), d.awaited, d.commit)
	}
}

// clone clones the applications' repository.
func (d *directFleet) clone(b *testing.B) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "clone")
	d.git(b, "clone", "-q", "file://"+filepath.Join(d.Dir, "platform", "apps.git"), dir)
	return dir
}

func (d *directFleet) git(b *testing.B, args ...string) {
	b.Helper()
	if out, err := fleettest.Git(args...).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, bytes.TrimSpace(out))
	}
}

// sizes reports what a cluster has on disk, against a clone of the same commit, one without history, and what the clone of a week ago fetches.
func (d *directFleet) sizes(b *testing.B, clone string, e *edge) {
	b.Helper()
	before := sizeOf(b, filepath.Join(clone, ".git"))
	d.git(b, "-C", clone, "fetch", "-q")
	b.ReportMetric((sizeOf(b, filepath.Join(clone, ".git"))-before)/1e3, "week-fetch-kB")
	whole := d.clone(b)
	shallow := filepath.Join(b.TempDir(), "shallow")
	d.git(b, "clone", "-q", "--depth", "1", "file://"+filepath.Join(d.Dir, "platform", "apps.git"), shallow)
	b.ReportMetric(sizeOf(b, filepath.Join(e.dir, "direct", "archives"))/1e3, "archives-kB")
	b.ReportMetric(sizeOf(b, filepath.Join(whole, ".git", "objects"))/1e3, "clone-kB")
	b.ReportMetric(sizeOf(b, filepath.Join(shallow, ".git", "objects"))/1e3, "shallow-kB")
}

// sizeOf returns the bytes of all files below a folder.
func sizeOf(b *testing.B, dir string) (size float64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += float64(info.Size())
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}
