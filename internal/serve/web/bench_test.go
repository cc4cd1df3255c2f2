package web_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger/ledgertest"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/web"
)

// BenchmarkPages requests each page for the fleet of the ledger's benchmarks: LEDGER_CLUSTERS clusters with 50 reconcilers
// each. The verdict of the last round is in memory, as on a server. Each request renders the page again.
func BenchmarkPages(b *testing.B) {
	l, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	clusters := ledgertest.Fill(b, l.Store)
	now := time.Date(2026, 3, 2, 10, 10, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	fleet := fleet{judged(b, &query.Observer{Ledger: l, Now: clock})}
	pages := &web.Pages{
		Observer: &query.Observer{Ledger: l, Fleet: &fleet, Now: clock}, Guard: &access.Guard{Store: l, Anonymous: access.AnonymousAlways},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), URL: "https://kalypso.example.com",
	}
	mux := http.NewServeMux()
	pages.Register(mux)
	for _, path := range []string{
		"/", "/map?environment=prod", "/environments/prod", "/environments/prod/targets/w7-t", "/workloads", "/workloads/w7", "/clusters", "/clusters?environment=prod&state=behind", "/clusters/c100007",
		"/promotions", "/history?environment=prod", "/history?environment=prod&workload=w7&target=w7-t", "/figures", "/search?q=c1000", "/compare?a=prod&b=prod",
	} {
		b.Run(fmt.Sprintf("clusters=%d%s", clusters, path), func(b *testing.B) { measure(b, mux, path) })
	}
}

func measure(b *testing.B, h http.Handler, path string) {
	var took []time.Duration
	size, n := 0, 0
	for b.Loop() {
		n++
		r := httptest.NewRequest(http.MethodGet, path, nil)
		q := r.URL.Query()
		q.Set("fresh", fmt.Sprint(n)) // a different address, so that the cache is not used
		r.URL.RawQuery = q.Encode()
		r.RequestURI = r.URL.RequestURI()
		r.Header.Set("Accept-Encoding", "gzip")
		a := httptest.NewRecorder()
		start := time.Now()
		h.ServeHTTP(a, r)
		took = append(took, time.Since(start))
		if a.Code != http.StatusOK {
			b.Fatalf("got %d", a.Code)
		}
		size = a.Body.Len()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
	b.ReportMetric(float64(size), "bytes-sent")
}

// judged returns the state of a server's rounds after all clusters were judged.
func judged(b *testing.B, alone *query.Observer) query.ControlPlane {
	b.Helper()
	d, err := alone.Environment(b.Context(), query.EnvironmentQuery{Name: "prod"})
	if err != nil || d.Gate == nil {
		b.Fatalf("no verdict: %v", err)
	}
	v := comply.Verdict{Commit: d.Gate.Commit, Result: d.Gate.Result, Reason: d.Gate.Reason, Counts: d.Gate.Counts}
	for i := range d.Counts.Clusters {
		v.Reconcilers = append(v.Reconcilers, comply.Reconciler{
			Cluster: fmt.Sprintf("c%d", 100001+i), ClusterType: "large", Name: "Kustomization flux-system/r1", State: comply.Reached, Reason: "runs it",
		})
	}
	return query.ControlPlane{
		URL:       "https://git.example.com/acme/control-plane",
		Promotion: &promote.Outcome{Environments: []promote.Standing{{Environment: "prod", Phase: "good", Verdict: v}}},
	}
}
