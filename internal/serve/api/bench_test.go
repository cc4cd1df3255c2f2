package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// BenchmarkReports takes full batches from one cluster after the other, as they arrive: compressed, and over to the ledger.
func BenchmarkReports(b *testing.B) {
	w := newWorld(b)
	clock := time.Now()
	w.server.Now = func() time.Time { clock = clock.Add(time.Second); return clock }
	handler := w.server.Handler()
	credentials := make([]string, 50)
	for i := range credentials {
		credentials[i] = w.register(fmt.Sprintf("large-%02d", i))
	}
	reports := make([]hub.Report, hub.MaxReports)
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		for i := range reports {
			reports[i] = report(fmt.Sprintf("reconciler-%03d", i), "")
			reports[i].Observed = clock.Add(time.Duration(n) * time.Millisecond)
		}
		body := zipped(b, marshal(b, hub.NewReportBatch("", clock, reports)))
		r := httptest.NewRequest(http.MethodPost, "/api/v1/reports", bytes.NewReader(body))
		r.Header = http.Header{
			"Authorization": {"Bearer " + credentials[n%len(credentials)]}, "Content-Type": {"application/json"}, "Content-Encoding": {"gzip"},
		}
		a := httptest.NewRecorder()
		b.StartTimer()
		if handler.ServeHTTP(a, r); a.Code != http.StatusOK {
			b.Fatalf("got %d: %s", a.Code, a.Body)
		}
	}
	b.ReportMetric(float64(b.N*len(reports))/b.Elapsed().Seconds(), "reports/s")
}

// BenchmarkPublish tells two hundred listeners who are busy.
func BenchmarkPublish(b *testing.B) {
	w := newWorld(b)
	for range 200 {
		_, done := w.listen(w.tokens["reader"])
		defer done()
	}
	for b.Loop() {
		w.server.Events.Publish(api.Signal{Type: api.SignalReport, Cluster: "large-07"})
	}
}

// BenchmarkQuestion asks for something small that is remembered: what the way there and back costs.
func BenchmarkQuestion(b *testing.B) {
	w := newWorld(b)
	handler := w.server.Handler()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/whoami", nil)
		r.Header.Set("Authorization", "Bearer "+w.tokens["reader"])
		a := httptest.NewRecorder()
		if handler.ServeHTTP(a, r); a.Code != http.StatusOK {
			b.Fatalf("got %d: %s", a.Code, a.Body)
		}
	}
}
