package simulate

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// remote serves the control of a simulation, and returns its other side.
func (w *world) remote(token string) Remote {
	w.Helper()
	server := httptest.NewServer(w.Handler(secret.New("right")))
	w.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	w.must(err)
	return Remote{Client: &client.Client{Server: u, Token: secret.New(token)}}
}

func TestControlWhileItRuns(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{})
	w.pushedAndReady()
	r := w.remote("right")
	o, err := r.Set(t.Context(), "large-01", Behaviour{Mode: Failing, Only: "shop"})
	if err != nil || o.Behaviour != (Behaviour{Mode: Failing, Only: "shop"}) {
		t.Errorf("got %+v, %v", o, err)
	}
	w.pass(time.Second)
	all, err := r.Clusters(t.Context())
	if err != nil || len(all) != 1 || all[0].Ready() != 1 || all[0].Failed() != 1 {
		t.Errorf("got %+v, %v, want one cluster with one that is ready and one that failed", all, err)
	}
	if diff := cmp.Diff([]hub.Membership{{Environment: "dev", ClusterType: "large"}}, all[0].Memberships); diff != "" {
		t.Error(diff)
	}
	var out bytes.Buffer
	if err := r.Kubectl(t.Context(), &out, "large-01", []string{"get", "cm", "-A"}); err != nil || !strings.Contains(out.String(), "platform-config") {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if err := r.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestControlRefuses(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{})
	good := w.remote("right")
	for want, err := range map[string]error{
		"token is missing":  second(w.remote("wrong").Clusters(t.Context())),
		"no such simulated": second(good.Set(t.Context(), "large-99", Behaviour{Mode: Offline})),
		"unknown mode":      second(good.Set(t.Context(), "large-01", Behaviour{Mode: "dance"})),
		"read-only":         good.Kubectl(t.Context(), io.Discard, "large-01", []string{"delete", "ns", "default"}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something about %q", err, want)
		}
	}
	anonymous := httptest.NewRecorder()
	w.Handler(secret.Value{}).ServeHTTP(anonymous, httptest.NewRequest(http.MethodGet, "/api/v1/clusters", nil))
	if anonymous.Code != http.StatusUnauthorized {
		t.Errorf("without any token: got %d, want 401", anonymous.Code)
	}
	large := httptest.NewRequest(http.MethodPost, "/api/v1/clusters/large-01/behaviour", strings.NewReader(`{"mode":"`+strings.Repeat("x", maxRequest)+`"}`))
	large.Header.Set("Authorization", "Bearer right")
	answer := httptest.NewRecorder()
	w.Handler(secret.New("right")).ServeHTTP(answer, large)
	if answer.Code != http.StatusBadRequest {
		t.Errorf("a request that is too large: got %d %s, want 400", answer.Code, answer.Body)
	}
}

func second[T any](_ T, err error) error { return err }

func (w *world) page(path, accept string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Header.Set("Accept", accept)
	answer := httptest.NewRecorder()
	w.Applications().ServeHTTP(answer, request)
	return answer
}

func TestApplicationsGreet(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{Delay: Delay{Least: 5 * time.Second, Most: 5 * time.Second}})
	w.pass(12 * time.Second)
	if got := w.page("/large-01/dev-large-shop", ""); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "starting") {
		t.Errorf("while it starts: got %d %s", got.Code, got.Body)
	}
	w.pass(10 * time.Second)
	got := w.page("/large-01/dev-large-shop/shop", "")
	for _, want := range []string{"Hello from large-01", "simulated cluster", "West US", "mysql://west:3306/&lt;db&gt;", "9090", "platform-config"} {
		if !strings.Contains(got.Body.String(), want) {
			t.Errorf("got %d %s, want it to contain %q", got.Code, got.Body, want)
		}
	}
	all, err := w.Greetings("large-01", "dev-large-shop")
	w.must(err)
	want := []Greeting{{
		Cluster: "large-01", Namespace: "dev-large-shop", Application: "shop", Image: "example.com/shop:1",
		Settings: []Setting{
			{"DATABASE_URL", "mysql://west:3306/<db>", "platform-config"}, {"PORT", "9090", ""}, {"REGION", "West US", "platform-config"},
		},
	}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, path := range []string{"/large-99/dev-large-shop", "/large-01/default", "/large-01/dev-large-shop/other"} {
		if got := w.page(path, "application/json"); got.Code != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, got.Code)
		}
	}
}

func TestApplicationsWaitForTheirConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	deployment := strings.Replace(deploymentOfShop, "metadata: {name: shop}", "metadata: {name: shop, namespace: default}", 1)
	w.push("gitops", "dev", map[string]string{"large/shop.yaml": deployment})
	w.add("large-01", Flux, "dev/large")
	w.pass(time.Second)
	all, err := w.Greetings("large-01", "default")
	if err != nil || len(all) != 1 || all[0].Waits != `CreateContainerConfigError: configmap "platform-config" not found` {
		t.Errorf("got %+v, %v", all, err)
	}
}
