package wiring

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/solution"
)

// newRegistryServer returns a server with a registry and the embedded forge.
func newRegistryServer(t *testing.T, anonymous string) *Server {
	t.Helper()
	config, err := serve.ParseConfig([]byte("registry: {}\n"), func(c *serve.Config) {
		c.Data, c.URL, c.Access.Anonymous = t.TempDir(), "http://kalypso.example.com", anonymous
		c.ControlPlanes = []string{"http://kalypso.example.com/platform/control-plane"}
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), Options{
		Config: config, Log: slog.New(slog.DiscardHandler),
		Listen: func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// status sends a request, as a program on this machine.
func status(server http.Handler, method, path string, header ...string) int {
	r, w := httptest.NewRequest(method, path, nil), httptest.NewRecorder()
	r.RemoteAddr, r.Host = "127.0.0.1:9999", "127.0.0.1:8080"
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	server.ServeHTTP(w, r)
	return w.Code
}

// TestAccessToTheRegistry: readers and clusters pull, operators push, admins delete, and roles in workspaces are not enough.
func TestAccessToTheRegistry(t *testing.T) {
	t.Parallel()
	s := newRegistryServer(t, "never")
	server := s.server.Handler()
	const upload, missing = "/v2/acme/shop/blobs/uploads/", "/v2/acme/shop/manifests/dev"
	tokens := map[string]string{"mistyped": "kal_o_mistyped", "nothing": ""}
	for _, role := range []access.Role{access.Reader, access.Operator, access.Admin, access.Join, access.Scoped} {
		token := access.NewToken(role)
		stored := ledger.Token{ID: string(role), Hash: access.Hash(token), Role: string(role), Description: string(role), Created: time.Now()}
		if role == access.Scoped {
			stored.Scope = `{"role":"operator","workspaces":["acme"]}`
		}
		if err := s.Ledger.PutToken(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		tokens[string(role)] = token.Reveal()
	}
	credential := access.NewToken(access.Cluster)
	if err := s.Ledger.Register(t.Context(), ledger.Registration{Cluster: "east", CredentialHash: access.Hash(credential), At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	tokens["cluster"] = credential.Reveal()
	unknown := "/v2/acme/shop/manifests/" + digest.FromString("unknown").String()
	for who, want := range map[string]struct{ pull, push, remove int }{
		"nothing": {401, 401, 401}, "mistyped": {401, 401, 401}, "join": {403, 403, 403}, "scoped": {403, 403, 403}, "reader": {404, 403, 403}, "cluster": {404, 403, 403},
		"operator": {404, 202, 403}, "admin": {404, 202, 404},
	} {
		basic := httptest.NewRequest(http.MethodGet, "/", nil)
		basic.SetBasicAuth("any", tokens[who])
		for kind, header := range map[string]string{"basic": basic.Header.Get("Authorization"), "bearer": "Bearer " + tokens[who]} {
			if got := status(server, http.MethodGet, missing, "Authorization", header); got != want.pull {
				t.Errorf("%s, %s: a pull answers %d, want %d", who, kind, got, want.pull)
			}
			if got := status(server, http.MethodPost, upload, "Authorization", header); got != want.push {
				t.Errorf("%s, %s: a push answers %d, want %d", who, kind, got, want.push)
			}
			if got := status(server, http.MethodDelete, unknown, "Authorization", header); got != want.remove {
				t.Errorf("%s, %s: a deletion answers %d, want %d", who, kind, got, want.remove)
			}
		}
	}
	operator := "Bearer " + tokens["operator"]
	if got := status(server, http.MethodPost, upload, "Authorization", operator, "Authorization", operator); got != http.StatusUnauthorized {
		t.Errorf("with two credentials: %d", got)
	}
	if got := status(server, http.MethodPost, upload, "Authorization", operator, "Sec-Fetch-Site", "cross-site"); got != http.StatusForbidden {
		t.Errorf("from a page of another site: %d", got)
	}
	if got := status(server, http.MethodGet, "/v2"); got != http.StatusUnauthorized {
		t.Errorf("/v2 answers %d", got)
	}
	empty := digest.FromString("").String()
	if got := status(server, http.MethodPost, upload+"?digest="+empty, "Authorization", operator); got != http.StatusCreated {
		t.Errorf("an empty blob: %d", got)
	}
}

// TestAnonymousPulls are allowed to the same clients as other reading. Pushes never are.
func TestAnonymousPulls(t *testing.T) {
	t.Parallel()
	server := newRegistryServer(t, "local").server.Handler()
	if got := status(server, http.MethodGet, "/v2/acme/shop/manifests/dev"); got != http.StatusNotFound {
		t.Errorf("a program on this machine: %d", got)
	}
	if got := status(server, http.MethodGet, "/v2/acme/shop/manifests/dev", "X-Forwarded-For", "203.0.113.9"); got != http.StatusUnauthorized {
		t.Errorf("behind a proxy: %d", got)
	}
	if got := status(server, http.MethodPost, "/v2/acme/shop/blobs/uploads/"); got != http.StatusUnauthorized {
		t.Errorf("a push: %d", got)
	}
}

// TestPinnedTargetsNeedTheirVersion: a version is not deleted while a target is pinned to its commit, or that is unknown.
func TestPinnedTargetsNeedTheirVersion(t *testing.T) {
	t.Parallel()
	const revision, other = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	shop := &query.Application{Name: "shop", Environments: []query.ApplicationEnvironment{{
		Environment: "dev", GitOps: &query.GitOps{}, Detail: &query.ApplicationEnvironmentDetail{Pinned: []deliver.PinnedTarget{
			{Name: "east", Pin: tree.Pin{Revision: revision}}, {Name: "west", Pin: tree.Pin{Uninstalled: true}},
		}},
	}}}
	known := []query.ControlPlane{{Promotion: &promote.Outcome{}, Applications: []*query.Application{shop}}}
	for _, c := range []struct {
		all                              []query.ControlPlane
		application, environment, commit string
		want                             string
	}{
		{known, "shop", "dev", revision, "the target east is pinned to it in dev; deploy it again first"},
		{known, "shop", "dev", other, ""},
		{known, "shop", "prod", revision, ""},
		{known, "bank", "dev", revision, ""},
		{[]query.ControlPlane{{}}, "shop", "dev", other, "not known yet"},
		{[]query.ControlPlane{{Promotion: &promote.Outcome{}, Applications: []*query.Application{{Name: "shop", Environments: []query.ApplicationEnvironment{{Environment: "dev"}}}}}}, "shop", "dev", other, "not known yet"},
		{[]query.ControlPlane{{Promotion: &promote.Outcome{}, Applications: []*query.Application{{Name: "shop"}}}}, "shop", "dev", other, "not known yet"},
	} {
		d := &solution.Descriptor{Application: c.application, Environment: c.environment, Inputs: solution.Inputs{GitOps: solution.Input{Commit: c.commit}}}
		if got := neededByPins(c.all, d); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s of %s: got %q, want %q", c.commit[:7], c.application, got, c.want)
		}
	}
}
