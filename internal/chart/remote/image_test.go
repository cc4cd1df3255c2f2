package remote_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/chart/remote/remotetest"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

func TestDigestOfAnImage(t *testing.T) {
	manifest := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case user != "me" || password != "hunter2":
			w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v2/team/shop/manifests/1.4.0":
			w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
			w.Header().Set("Docker-Content-Digest", remotetest.Digest(manifest))
			_, _ = w.Write(manifest)
		case strings.HasSuffix(r.URL.Path, "/manifests/broken"):
			w.WriteHeader(http.StatusBadGateway)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	client := &remote.Client{
		PlainHTTP: func(string) bool { return true },
		Credential: func(_ context.Context, asked string) (remote.Credential, error) {
			if asked != host {
				t.Errorf("%s is told who we are", asked)
			}
			return remote.Credential{User: "me", Password: secret.New("hunter2")}, nil
		},
	}
	digest := func(reference string) (string, error) {
		image, err := chart.ParseImage(reference)
		if err != nil {
			t.Fatal(err)
		}
		return client.Digest(t.Context(), image)
	}
	if got, err := digest(host + "/team/shop:1.4.0"); err != nil || got != remotetest.Digest(manifest) {
		t.Errorf("got %s, %v", got, err)
	}
	for reference, want := range map[string]string{"/team/shop:1.5.0": "does not have it", "/team/shop:broken": "does not answer"} {
		if got, err := digest(host + reference); got != "" || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %s, %v", reference, got, err)
		}
	}
	client.Credential = nil
	if _, err := digest(host + "/team/shop:1.4.0"); err == nil || !strings.Contains(err.Error(), "credential for the registry is missing") {
		t.Errorf("got %v", err)
	}
}
