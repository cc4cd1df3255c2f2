package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/e2e/harness"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// The size of the large fleet: 20 clusters of each of 100 types, and 200 workloads on each type, which makes 20,000 cells.
const (
	manyTypes     = 100
	clustersOf    = 20 // BenchmarkMap has more
	manyWorkloads = 200
)

// shown is a server whose pages are looked at.
type shown struct {
	url, token string
	// credential is that of the cluster type-000-00, for reports.
	credential secret.Value
	process    *harness.Process
}

// largeServer is the one server of the large fleet: filling its ledger takes longer than all that is asked of it.
var largeServer struct {
	sync.Mutex
	*shown
}

// showLarge serves a fleet of which only reports are known: 2,000 clusters, each of which runs all of 200 workloads.
// One in a hundred of these failed. Tests share it, until all are over.
func showLarge(t *testing.T) *shown {
	t.Helper()
	largeServer.Lock()
	defer largeServer.Unlock()
	if largeServer.shown == nil {
		largeServer.shown = showMany(t, "large", clustersOf)
	}
	return largeServer.shown
}

// showMany serves a fleet like the large one with another number of clusters of each type. The name is that of its folder.
func showMany(t testing.TB, name string, clustersOf int) *shown {
	t.Helper()
	data, err := kalypso.Lab().Folder(name + "-data")
	must(t, err)
	address := freeAddress(t)
	s := &shown{url: "http://" + address, credential: access.NewToken(access.Cluster)}
	began := time.Now()
	fill(t, filepath.Join(data, "ledger.db"), s.credential, clustersOf)
	t.Logf("the ledger has %d reconcilers after %s", manyTypes*clustersOf*(manyWorkloads+1), time.Since(began).Round(time.Second))
	s.process, err = kalypso.Start("kalypso-"+name, "serve", "--listen", address, "--data", data, "--control-plane", s.url+"/platform/control-plane")
	must(t, err)
	must(t, s.process.WaitServing(t.Context(), s.url+"/healthz"))
	s.token = readToken(t, data)
	return s
}

func readToken(t testing.TB, data string) string {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(data, "admin-token"))
	must(t, err)
	return strings.TrimSpace(string(token))
}

const (
	largeGitOps = "https://git.example.com/platform/gitops"
	largeApps   = "https://git.example.com/apps/gitops"
	largeBefore = "1000000000000000000000000000000000000000"
	largeNow    = "2000000000000000000000000000000000000000"
)

func typeName(i int) string          { return fmt.Sprintf("type-%03d", i) }
func clusterName(kind, i int) string { return fmt.Sprintf("%s-%02d", typeName(kind), i) }
func workloadName(i int) string      { return fmt.Sprintf("workload-%03d", i) }
func workloadTarget(i int) string    { return workloadName(i) + "-prod" }
func minutesAgo(n float64) time.Time { return time.Now().Add(-time.Duration(n * float64(time.Minute))) }

func sourceOf(path string) ledger.Source {
	return ledger.Source{Repository: largeApps, Ref: "prod", Path: path}
}

// fill writes what the large fleet reported.
func fill(t testing.TB, file string, credential secret.Value, clustersOf int) {
	t.Helper()
	l, err := sqlite.Open(t.Context(), file)
	must(t, err)
	defer func() { must(t, l.Close()) }()
	platform := ledger.Commit{Repository: largeGitOps, Branch: "prod", SHA: largeNow, Kind: ledger.BranchPlatform, Environment: "prod", Committed: minutesAgo(90), Recorded: minutesAgo(90)}
	apps := ledger.Commit{Repository: largeApps, Branch: "prod", SHA: largeNow, Kind: ledger.BranchApplication, Environment: "prod", Committed: minutesAgo(80), Recorded: minutesAgo(80)}
	for w := range manyWorkloads {
		apps.Versions = append(apps.Versions, ledger.Version{
			Workload: workloadName(w), Workspace: fmt.Sprintf("team-%02d", w%20), Target: "prod", Environment: "prod", Path: workloadName(w),
			Version: fmt.Sprintf("1.%d.0", w%30), Built: minutesAgo(100),
		})
		for k := range manyTypes {
			platform.Assignments = append(platform.Assignments, ledger.Assignment{
				ClusterType: typeName(k), Target: workloadTarget(w), Workload: workloadName(w), Workspace: fmt.Sprintf("team-%02d", w%20),
			})
		}
	}
	must(t, l.RecordCommit(t.Context(), platform))
	must(t, l.RecordCommit(t.Context(), apps))
	for k := range manyTypes {
		for i := range clustersOf {
			r := ledger.Registration{Cluster: clusterName(k, i), Memberships: []ledger.Membership{{Environment: "prod", ClusterType: typeName(k)}}, At: minutesAgo(120)}
			if k == 0 && i == 0 {
				r.CredentialHash = access.Hash(credential)
			}
			must(t, l.Register(t.Context(), r))
		}
	}
	for k := range manyTypes {
		var reports []ledger.Report
		for i := range clustersOf {
			reports = append(reports, reportsOf(k, i)...)
		}
		must(t, l.Report(t.Context(), reports...))
	}
	for k := range manyTypes {
		for i := range clustersOf {
			must(t, l.Heard(t.Context(), clusterName(k, i), minutesAgo(0)))
		}
	}
}

// reportsOf are those of one cluster: of the platform's reconciler, and of one for each workload.
func reportsOf(kind, i int) []ledger.Report {
	cluster := clusterName(kind, i)
	of := func(name string, from ledger.Source, at time.Time, state ledger.State, message string) ledger.Report {
		return ledger.Report{
			Reconciler: ledger.ReconcilerID{Cluster: cluster, Kind: "Kustomization", Namespace: "flux-system", Name: name},
			Outcome:    ledger.Outcome{Source: from, Revision: largeNow, State: state, Message: message}, Observed: at, Received: at,
		}
	}
	all := []ledger.Report{of("platform", ledger.Source{Repository: largeGitOps, Ref: "prod", Path: typeName(kind)}, minutesAgo(60), ledger.StateReady, "")}
	for w := range manyWorkloads {
		state, message := ledger.StateReady, ""
		if (kind*7+i*13+w)%100 == 0 {
			state, message = ledger.StateFailed, "health check failed: <b>deployment</b> is not ready"
		}
		all = append(all, of(workloadName(w), sourceOf(workloadName(w)), minutesAgo(50-float64(i)), state, message))
	}
	return all
}

// showSample serves the tutorial's fleet, with its simulated clusters.
func showSample(t *testing.T) *shown {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sample")
	address := freeAddress(t)
	s := &shown{url: "http://" + address}
	var err error
	s.process, err = kalypso.Start("kalypso-sample", "sample", "up", "--dir", dir, "--listen", address, "--poll", "500ms", "--delay", "200ms")
	must(t, err)
	t.Cleanup(func() { _ = s.process.Stop(context.Background()) })
	must(t, s.process.WaitServing(t.Context(), s.url+"/readyz"))
	s.token = findToken(t, dir)
	for _, page := range []string{"/workloads/hello-world-app", "/environments/dev/explain?target=hello-world-app/performance-test"} {
		eventually(t, page+" answers", func(context.Context) error { return s.tryAsk(t.Context(), page, "application/json", nil) })
	}
	return s
}

// findToken finds the token of the administrator below a folder.
func findToken(t *testing.T, dir string) string {
	t.Helper()
	found := ""
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "admin-token" {
			found = filepath.Dir(path)
		}
		return err
	}))
	return readToken(t, found)
}

// ask asks a program's question, and wants an answer.
func (s *shown) ask(t *testing.T, path, accept string) (text string) {
	t.Helper()
	must(t, s.tryAsk(t.Context(), path, accept, &text))
	return text
}

// tryAsk asks a program's question. The answer may be nil.
func (s *shown) tryAsk(ctx context.Context, path, accept string, answer *string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", accept)
	r.Header.Set("Authorization", "Bearer "+s.token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: got %s: %.300s", path, a.Status, text)
	}
	if answer != nil {
		*answer = string(text)
	}
	return err
}

// freeAddress is an address of this machine at which nobody listens, and that nothing else is given.
func freeAddress(t testing.TB) string {
	t.Helper()
	address, err := stack.Address()
	must(t, err)
	return address
}

// pictures is where screenshots go: a folder that stays when the tests are over.
func pictures() string {
	if dir := os.Getenv("KALYPSO_E2E_PICTURES"); dir != "" {
		return dir
	}
	return "pictures"
}

// newBrowser starts a browser for a test.
func newBrowser(t testing.TB) *harness.Browser {
	t.Helper()
	b, err := kalypso.Lab().StartBrowser(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = b.Stop(context.Background()) }) // the lab ends it otherwise
	return b
}

// open opens a tab of somebody who is signed in.
func (s *shown) open(t testing.TB, b *harness.Browser, v harness.View) *harness.Tab {
	t.Helper()
	tab := s.openAsNobody(t, b, v)
	must(t, tab.Visit(s.url+"/-/sign-in"))
	_, err := harness.Eval[bool](tab, fmt.Sprintf(`document.getElementById("token").value = %q; true`, s.token))
	must(t, err)
	must(t, tab.Click("main form button"))
	return tab
}

func (s *shown) openAsNobody(t testing.TB, b *harness.Browser, v harness.View) *harness.Tab {
	t.Helper()
	tab, err := b.Open(v)
	must(t, err)
	t.Cleanup(tab.Close)
	return tab
}
