package reconciler

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestDiscovery(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/apis/apps":
			_, _ = w.Write([]byte(`{"kind":"APIGroup","name":"apps","versions":[{"groupVersion":"apps/v1beta1","version":"v1beta1"}],"preferredVersion":{"version":"v1"}}`))
		case "/apis/apps/v1":
			_, _ = w.Write([]byte(`{"kind":"APIResourceList","resources":[{"name":"deployments","kind":"Deployment"},{"name":"deployments/scale","kind":"Scale"}]}`))
		case "/apis/secret/v1":
			w.WriteHeader(http.StatusForbidden)
		case "/apis/odd/v1":
			_, _ = w.Write([]byte(`<html>`))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	d, err := NewDiscovery(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	got, err := find(t.Context(), d, Kind{Group: "apps", Resource: "deployments"})
	if err != nil || got.kind != "Deployment" || got.resource.String() != "apps/v1, Resource=deployments" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, k := range []Kind{{Group: "nothing", Resource: "x"}, {Group: "apps", Resource: "widgets"}, {Group: "apps", Resource: "deployments", Versions: []string{"v9"}}} {
		if got, err := find(t.Context(), d, k); err != nil || got.kind != "" {
			t.Errorf("%v: got %v, %v, want nothing", k, got, err)
		}
	}
	for group, want := range map[string]string{"secret": "apis/secret/v1 answers 403 Forbidden", "odd": "apis/odd/v1: invalid character"} {
		if _, err := find(t.Context(), d, Kind{Group: group, Resource: "x", Versions: []string{"v1"}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", group, err, want)
		}
	}
}
