package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// TestLifeOfACluster: registered, reports, gets another credential, is revoked; and nothing of its secrets stays behind.
func TestLifeOfACluster(t *testing.T) {
	w := newWorld(t)
	admin := w.tokens["admin"]
	wanted := ingest.ClusterRequest{
		Name: "large-07", Memberships: []ledger.Membership{{Environment: "dev", ClusterType: "large"}}, Labels: map[string]string{"region": "eu"},
	}
	a := w.post("/api/v1/clusters", admin, wanted)
	first := decode[api.Credential](t, a, http.StatusCreated)
	if !strings.HasPrefix(first.Credential, "kal_c_") || first.FluxKey == "" || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %+v, %v", first, a.header)
	}
	if diff := cmp.Diff(first.Memberships, wanted.Memberships); diff != "" || first.By != "admin (token admin)" {
		t.Errorf("by %q (-got +want):\n%s", first.By, diff)
	}
	body := marshal(t, batch("large-07", report("platform", "")))
	if a := w.post("/api/v1/reports", first.Credential, body); a.status != http.StatusOK {
		t.Fatalf("report: got %d: %s", a.status, a.body)
	}

	wanted.Labels = map[string]string{"region": "us"}
	changed := decode[api.Credential](t, w.post("/api/v1/clusters", admin, wanted), http.StatusCreated)
	if changed.Credential != "" || changed.Labels["region"] != "us" {
		t.Errorf("changed: got %+v", changed)
	}
	if a := w.post("/api/v1/reports", first.Credential, body); a.status != http.StatusOK {
		t.Errorf("it keeps its credential: got %d: %s", a.status, a.body)
	}

	second := decode[api.Credential](t, w.post("/api/v1/clusters/large-07/rotate", admin, nil), http.StatusOK)
	wantProblem(t, w.post("/api/v1/reports", first.Credential, body), http.StatusUnauthorized)
	if a := w.post("/api/v1/reports", second.Credential, body); a.status != http.StatusOK {
		t.Errorf("with the new one: got %d: %s", a.status, a.body)
	}

	decode[api.Credential](t, w.post("/api/v1/clusters/large-07/revoke", admin, nil), http.StatusOK)
	wantProblem(t, w.post("/api/v1/reports", second.Credential, body), http.StatusUnauthorized)

	trail := []string{
		`admin (token admin) register cluster large-07 dev="large"`, `admin (token admin) register cluster large-07 dev="large"`,
		"admin (token admin) rotate cluster large-07", "admin (token admin) revoke cluster large-07",
	}
	if diff := cmp.Diff(w.trail(), trail); diff != "" {
		t.Errorf("audit trail (-got +want):\n%s", diff)
	}
	w.wantNowhere(first.Credential, first.FluxKey, second.Credential)
}

// wantNowhere wants that secrets are in no log and no list.
func (w *world) wantNowhere(secrets ...string) {
	w.t.Helper()
	shown := w.log.String() + strings.Join(w.trail(), "\n")
	for _, path := range []string{"/clusters", "/tokens", "/audit"} {
		shown += string(w.get("/api/v1" + path).body)
	}
	for _, s := range secrets {
		if s == "" || strings.Contains(shown, s) {
			w.t.Errorf("the secret that begins with %.6q is shown, or empty", s)
		}
	}
}

func TestLifeOfAToken(t *testing.T) {
	w := newWorld(t)
	admin := w.tokens["admin"]
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	a := w.post("/api/v1/tokens", admin, api.TokenRequest{Name: "ci", Role: "operator", Expires: expires})
	made := decode[api.NewToken](t, a, http.StatusCreated)
	if made.Name != "ci" || made.Role != "operator" || !made.Expires.Equal(expires) || made.By != "admin (token admin)" {
		t.Errorf("got %+v", made.Token)
	}
	if a := w.post("/api/v1/environments/dev/pause", made.Secret, `{}`); a.status != http.StatusAccepted {
		t.Fatalf("got %d: %s", a.status, a.body)
	}
	list := decode[api.Tokens](t, w.get("/api/v1/tokens"), http.StatusOK)
	if len(list.Items) != 4 || list.Items[0].ID != made.ID {
		t.Errorf("got %+v", list)
	}
	revoked := decode[api.Token](t, w.post("/api/v1/tokens/"+made.ID+"/revoke", admin, nil), http.StatusOK)
	if revoked.Revoked.IsZero() {
		t.Errorf("got %+v", revoked)
	}
	wantProblem(t, w.post("/api/v1/environments/dev/resume", made.Secret, `{}`), http.StatusUnauthorized)
	wantProblem(t, w.post("/api/v1/tokens/none/revoke", admin, nil), http.StatusNotFound)
	w.wantNowhere(made.Secret)
}

func TestTokensThatAreNotMade(t *testing.T) {
	w := newWorld(t)
	for name, body := range map[string]string{
		"no name":          `{"role": "reader"}`,
		"no role":          `{"name": "ci"}`,
		"of a cluster":     `{"name": "ci", "role": "cluster"}`,
		"two lines":        `{"name": "a\nb", "role": "reader"}`,
		"expired":          `{"name": "ci", "role": "reader", "expires": "2020-01-01T00:00:00Z"}`,
		"no time":          `{"name": "ci", "role": "reader", "expires": "tomorrow"}`,
		"join what":        `{"name": "ci", "role": "join", "expires": "2999-01-01T00:00:00Z"}`,
		"reader who joins": `{"name": "ci", "role": "reader", "join": {"memberships": []}}`,
	} {
		a := w.post("/api/v1/tokens", w.tokens["admin"], body)
		if a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d: %s", name, a.status, a.body)
		}
	}
}

func TestJoin(t *testing.T) {
	w := newWorld(t)
	a := w.post("/api/v1/tokens", w.tokens["admin"], fmt.Sprintf(
		`{"name": "terraform", "role": "join", "expires": %q, "join": {"memberships": [{"environment": "dev", "clusterType": "*"}]}}`,
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	token := decode[api.NewToken](t, a, http.StatusCreated)
	if !strings.HasPrefix(token.Secret, "kal_j_") || !strings.Contains(token.Scope, "dev") {
		t.Fatalf("got %+v", token)
	}
	member := func(name, environment string) ingest.ClusterRequest {
		return ingest.ClusterRequest{Name: name, Memberships: []ledger.Membership{{Environment: environment, ClusterType: "large"}}}
	}
	joined := decode[api.Credential](t, w.post("/api/v1/clusters/join", token.Secret, member("large-09", "dev")), http.StatusCreated)
	if a := w.post("/api/v1/reports", joined.Credential, marshal(t, batch("large-09", report("platform", "")))); a.status != http.StatusOK {
		t.Errorf("report: got %d: %s", a.status, a.body)
	}
	wantProblem(t, w.post("/api/v1/clusters/join", token.Secret, member("large-09", "dev")), http.StatusConflict)
	wantProblem(t, w.post("/api/v1/clusters/join", token.Secret, member("large-10", "prod")), http.StatusForbidden)
	wantProblem(t, w.post("/api/v1/clusters/join", token.Secret, member("Large_10", "dev")), http.StatusUnprocessableEntity)
	w.wantNowhere(token.Secret, joined.Credential)
}

// TestStolenToken: what was stolen opens nothing any more as soon as the answer to the revocation is there.
func TestStolenToken(t *testing.T) {
	w := newWorld(t)
	stolen := w.tokens["operator"]
	if a := w.call(http.MethodGet, "/api/v1/environments", stolen, nil); a.status != http.StatusOK {
		t.Fatal(a.status)
	}
	decode[api.Token](t, w.post("/api/v1/tokens/operator/revoke", w.tokens["admin"], nil), http.StatusOK)
	p := wantProblem(t, w.call(http.MethodGet, "/api/v1/environments", stolen, nil), http.StatusUnauthorized)
	if !strings.Contains(p.Detail, "revoked") {
		t.Errorf("got %+v", p)
	}
}
