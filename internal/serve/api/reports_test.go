package api_test

import (
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

func batch(cluster string, reports ...hub.Report) hub.ReportBatch {
	return hub.NewReportBatch(cluster, time.Now(), reports)
}

func report(name, message string) hub.Report {
	return hub.Report{
		Kind: "Kustomization", Namespace: "flux-system", Name: name, Repository: gitOps, Ref: "dev", Path: "large",
		Revision: commit("d"), State: hub.StateReady, Message: message, Observed: time.Now().Add(-time.Minute).Truncate(time.Microsecond),
	}
}

func zipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// states are what the ledger says that clusters run.
func (w *world) states() map[string]string {
	w.t.Helper()
	page, err := w.ledger.States(w.t.Context(), ledger.StateQuery{})
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[string]string{}
	for _, s := range page.States {
		all[s.Reconciler.Cluster+"/"+s.Reconciler.Name] = string(s.State)
	}
	return all
}

func TestReports(t *testing.T) {
	w := newWorld(t)
	credential := w.register("large-07")
	b := batch("large-07", report("platform", ""), report("apps", ""))
	for _, how := range []struct {
		name, encoding string
		body           []byte
	}{
		{"as it is", "", marshal(t, b)},
		{"compressed", "gzip", zipped(t, marshal(t, b))},
		{"once more", "", marshal(t, b)},
		{"a heartbeat", "", marshal(t, batch(""))},
	} {
		headers := []string{"Idempotency-Key", b.ID, "Content-Encoding", how.encoding}
		if how.name == "a heartbeat" {
			headers = nil
		}
		decode[hub.ReportReceipt](t, w.post("/api/v1/reports", credential, how.body, headers...), http.StatusOK)
	}
	want := map[string]string{"large-07/platform": "ready", "large-07/apps": "ready"}
	if diff := cmp.Diff(w.states(), want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if entries := w.trail(); len(entries) > 0 {
		t.Errorf("reports are facts of their own, and on the audit trail are %q", entries)
	}
}

// TestJobsOfClusters: the answer to a batch requests Jobs of the cluster that the batch is about, with what the batch says about them.
func TestJobsOfClusters(t *testing.T) {
	w := newWorld(t)
	credential := w.register("large-07")
	requested := []hub.JobRequest{{ID: strings.Repeat("a", 32), Template: "smoke", Environment: "dev", Revision: commit("d"), Seconds: 60}}
	var said []hub.JobResult
	w.server.Jobs = func(cluster string, b *hub.ReportBatch) []hub.JobRequest {
		if cluster != "large-07" || !b.RunsJobs {
			t.Errorf("asked about %s, which runs jobs: %v", cluster, b.RunsJobs)
		}
		said = b.Jobs
		return requested
	}
	b := batch("")
	b.RunsJobs, b.Jobs = true, []hub.JobResult{{ID: requested[0].ID, State: hub.JobFailed, Message: "BackoffLimitExceeded"}}
	got := decode[hub.ReportReceipt](t, w.post("/api/v1/reports", credential, marshal(t, b)), http.StatusOK)
	if diff := cmp.Diff(hub.ReportReceipt{Resend: true, Jobs: requested}, got); diff != "" || !cmp.Equal(b.Jobs, said) {
		t.Errorf("said %+v; the receipt (-want +got):\n%s", said, diff)
	}
	b.Jobs[0].State = "green"
	if got := w.post("/api/v1/reports", credential, marshal(t, b)); got.status != http.StatusUnprocessableEntity || !strings.Contains(string(got.body), "jobs[0]: state is") {
		t.Errorf("an unknown state: %d %s", got.status, got.body)
	}
}

func TestHostileReports(t *testing.T) {
	w := newWorld(t)
	credential := w.register("large-07")
	w.register("large-08")
	many := make([]hub.Report, hub.MaxReports+1)
	for i := range many {
		many[i] = report("r", "")
	}
	bomb := zipped(t, bytes.Repeat([]byte(" "), 64<<20))
	for name, tc := range map[string]struct {
		body    []byte
		headers []string
		status  int
	}{
		"about another cluster":   {marshal(t, batch("large-08", report("platform", ""))), nil, 403},
		"no JSON":                 {[]byte("reports"), nil, 400},
		"nothing":                 {[]byte(""), nil, 400},
		"cut off":                 {marshal(t, batch("large-07"))[:40], nil, 400},
		"very deep":               {bytes.Repeat([]byte(`{"reports":[`), 50_000), nil, 400},
		"too long":                {append(marshal(t, batch("large-07")), bytes.Repeat([]byte(" "), hub.MaxReportedBytes)...), nil, 413},
		"a bomb":                  {bomb, []string{"Content-Encoding", "gzip"}, 413},
		"not compressed":          {marshal(t, batch("large-07")), []string{"Content-Encoding", "gzip"}, 400},
		"an unknown encoding":     {marshal(t, batch("large-07")), []string{"Content-Encoding", "br"}, 415},
		"too many reports":        {marshal(t, batch("large-07", many...)), nil, 422},
		"of another format":       {[]byte(`{"apiVersion":"v1","kind":"ReportBatch"}`), nil, 422},
		"another key":             {marshal(t, batch("large-07")), []string{"Idempotency-Key", "x"}, 422},
		"a state that is none":    {bytes.ReplaceAll(marshal(t, batch("large-07", report("platform", ""))), []byte(`"ready"`), []byte(`"\u001b[31mgreen\nlevel=error"`)), nil, 422},
		"a name with controls":    {marshal(t, batch("large-07", report("a\x1b[31m\nlevel=error", ""))), nil, 422},
		"a type that is not JSON": {marshal(t, batch("large-07")), []string{"Content-Type", "text/yaml"}, 415},
	} {
		p := wantProblem(t, w.post("/api/v1/reports", credential, tc.body, tc.headers...), tc.status)
		if strings.ContainsAny(p.Detail, "\x1b\n") {
			t.Errorf("%s: it says %q", name, p.Detail)
		}
	}
	p := wantProblem(t, w.post("/api/v1/reports", credential, []byte("null")), 422)
	if !strings.Contains(p.Detail, "; id is required; sent is ") {
		t.Errorf("several things are wrong, and it says %q", p.Detail)
	}
	if got := w.states(); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	if log := w.log.String(); strings.Contains(log, "\x1b") || strings.Contains(log, "\nlevel=error") {
		t.Errorf("logged:\n%s", log)
	}
}

func TestReportsAreLimited(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	w.server.Now = func() time.Time { return now } // a clock that stands: nothing is forgiven
	credential, other := w.register("large-07"), w.register("large-08")
	body := marshal(t, batch(""))
	var last asked
	for range 201 {
		if last = w.post("/api/v1/reports", credential, body); last.status != http.StatusOK {
			break
		}
	}
	p := wantProblem(t, last, http.StatusTooManyRequests)
	if last.header.Get("Retry-After") != "1" || p.Next == "" {
		t.Errorf("got %v %+v", last.header, p)
	}
	if a := w.post("/api/v1/reports", other, body); a.status != http.StatusOK {
		t.Errorf("another cluster: got %d", a.status)
	}
}

// fluxEvent is an event as Flux's notification controller sends it.
func fluxEvent(message string) []byte {
	return []byte(`{
  "involvedObject": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "namespace": "flux-system", "name": "platform"},
  "severity": "info", "timestamp": "` + time.Now().Add(-time.Minute).UTC().Format(time.RFC3339) + `", "reason": "ReconciliationSucceeded",
  "message": "` + message + `", "metadata": {"kustomize.toolkit.fluxcd.io/revision": "dev@sha1:` + commit("d") + `"},
  "reportingController": "kustomize-controller"
}`)
}

func signed(key secret.Value, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func TestFluxEvents(t *testing.T) {
	w := newWorld(t)
	credential := w.register("large-07")
	w.register("large-08")
	key := ingest.FluxKey(w.server.FluxSecret, ledger.Registration{Cluster: "large-07", CredentialHash: access.Hash(secret.New(credential))})
	body := fluxEvent("Reconciliation finished")
	const path = "/api/v1/reports/flux"
	if a := w.post(path, credential, body); a.status != http.StatusOK {
		t.Errorf("with the credential: got %d: %s", a.status, a.body)
	}
	if a := w.post(path+"?cluster=large-07", "", body, "X-Signature", signed(key, body)); a.status != http.StatusOK {
		t.Errorf("signed: got %d: %s", a.status, a.body)
	}
	for name, a := range map[string]asked{
		"with the key of another":   w.post(path+"?cluster=large-08", "", body, "X-Signature", signed(key, body)),
		"of no cluster":             w.post(path, "", body, "X-Signature", signed(key, body)),
		"something else was signed": w.post(path+"?cluster=large-07", "", fluxEvent("x"), "X-Signature", signed(key, body)),
		"of an unknown cluster": w.post(path+"?cluster=none", "", body, "X-Signature",
			signed(ingest.FluxKey(w.server.FluxSecret, ledger.Registration{Cluster: "none", CredentialHash: "x"}), body)),
		"the signature opens nothing else": w.post("/api/v1/reports?cluster=large-07", "", body, "X-Signature", signed(key, body)),
	} {
		if a.status != http.StatusUnauthorized {
			t.Errorf("%s: got %d: %s", name, a.status, a.body)
		}
	}
	rotated := decode[api.Credential](t, w.post("/api/v1/clusters/large-07/rotate", w.tokens[access.Admin], nil), http.StatusOK)
	if a := w.post(path+"?cluster=large-07", "", body, "X-Signature", signed(key, body)); a.status != http.StatusUnauthorized {
		t.Errorf("with the key of the credential before: got %d: %s", a.status, a.body)
	}
	key = secret.New(rotated.FluxKey)
	if a := w.post(path+"?cluster=large-07", "", body, "X-Signature", signed(key, body)); a.status != http.StatusOK {
		t.Errorf("with the key of the new credential: got %d: %s", a.status, a.body)
	}
	if err := w.ledger.Register(t.Context(), ledger.Registration{Cluster: "large-07", Revoked: true, At: time.Now().Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	w.server.Guard.Forget()
	if a := w.post(path+"?cluster=large-07", "", body, "X-Signature", signed(key, body)); a.status != http.StatusUnauthorized {
		t.Errorf("revoked: got %d: %s", a.status, a.body)
	}
	wantProblem(t, w.post(path, credential, body), http.StatusUnauthorized)
}

func TestArgoNotifications(t *testing.T) {
	w := newWorld(t)
	credential := w.register("large-07")
	body := marshal(t, ingest.ArgoNotification{
		APIVersion: "hub.kalypso.io/v1alpha1", Kind: "ArgoNotification", Namespace: "argocd", Name: "platform",
		Sources:   []ingest.ArgoSource{{RepoURL: gitOps, Path: "large", TargetRevision: "dev"}},
		Revisions: []string{commit("d")}, Operated: []string{commit("d")}, Sync: "Synced", Health: "Healthy", Phase: "Succeeded", Sent: time.Now(),
	})
	if a := w.post("/api/v1/reports/argocd", credential, body); a.status != http.StatusOK {
		t.Fatalf("got %d: %s", a.status, a.body)
	}
	if diff := cmp.Diff(w.states(), map[string]string{"large-07/platform": "ready"}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	wantProblem(t, w.post("/api/v1/reports/argocd", credential, `{"kind": "Application"}`), http.StatusUnprocessableEntity)
}

// FuzzReport: whatever is sent is answered, by a status that tells the sender what they did.
func FuzzReport(f *testing.F) {
	good, err := json.Marshal(batch("", report("platform", "")))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, "")
	f.Add(good, "gzip")
	f.Add([]byte("{}"), "br")
	f.Add(good[:len(good)/2], "identity")
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0}, "gzip")
	w := newWorld(f)
	now := time.Now()
	w.server.Now = func() time.Time { now = now.Add(time.Second); return now } // that the limit is never reached
	credential, handler := w.register("large-07"), w.server.Handler()
	f.Fuzz(func(t *testing.T, body []byte, encoding string) {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/reports", bytes.NewReader(body))
		r.Header = http.Header{
			"Authorization": {"Bearer " + credential}, "Content-Type": {"application/json"}, "Content-Encoding": {encoding},
		}
		a := httptest.NewRecorder()
		handler.ServeHTTP(a, r)
		if a.Code >= 500 || a.Code == http.StatusUnauthorized || a.Code == http.StatusTooManyRequests {
			t.Errorf("got %d: %s", a.Code, a.Body)
		}
		if a.Code != http.StatusOK && a.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("got %q", a.Header())
		}
	})
}
