package wiring

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// dripping returns the address of a Git server whose answer never ends, and never stops for long.
func dripping(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		ticks := time.NewTicker(50 * time.Millisecond)
		defer ticks.Stop()
		for text := "001e# service=git-upload-pack\n0000fff0"; ; text = cmp.Or(text[1:], "0") {
			if _, err := io.WriteString(w, text[:1]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-ticks.C:
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestSlowSourceHoldsOnlyItsAssignments moves a workload to a very slow server, and changes something else.
func TestSlowSourceHoldsOnlyItsAssignments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.round("dev")
	w.Merge()
	before := w.Files(fleettest.GitOps, "dev")

	url := dripping(t)
	// The other repositories answer in time on a busy machine, too.
	w.flows.Client = &git.Client{
		CacheDir: t.TempDir(), Env: func(string) string { return "" }, Elsewhere: true, Limits: git.Limits{Answer: 10 * time.Second},
		Map: append(w.flows.Client.Map, git.Mapping{From: w.URL + "/platform/hello-world-app", To: url + "/hello-world-app"}),
	}
	w.flows.Commits.Client = w.flows.Client
	w.Edit("dev", westConfig, "REGION: West US", "REGION: Far West")
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // it would be the transfer's limit
		outcome, err := w.flows.Round(ctx, w.URL+"/"+fleettest.ControlPlane, "dev")
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		var named bool
		for _, p := range outcome.Plan.Problems {
			named = named || p.Severity == fleet.SeverityError && p.Object.Kind == "WorkloadRegistration" && strings.Contains(p.Message, url+"/hello-world-app")
		}
		if !named {
			t.Errorf("no problem names the repository: %v", outcome.Plan.Problems)
		}
	}
	files := w.Files(fleettest.GitOps, "kalypso/dev")
	if !strings.Contains(files["large/nginx-dev/platform-config.yaml"], "Far West") {
		t.Error("what does not need the source did not go on")
	}
	for path, content := range before {
		if strings.Contains(path, "hello-world-app") && files[path] != content {
			t.Errorf("%s was not held", path)
		}
	}

	registry := prometheus.NewRegistry()
	registry.MustRegister(&sourceMetrics{w.flows.Client.Unavailable})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 1 || families[0].GetMetric()[0].GetLabel()[0].GetValue() != url+"/hello-world-app" || families[0].GetMetric()[0].GetGauge().GetValue() == 0 {
		t.Errorf("metrics: %v", families)
	}
}
