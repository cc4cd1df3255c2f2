package client_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/hub/client"
)

// A name that would lead to another path of the server is refused, and nothing is sent.
func TestNamesThatLeadElsewhere(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the server is asked for %s", r.URL) }))
	defer server.Close()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	type cluster struct {
		Name string `path:"name"`
	}
	for _, name := range []string{"", ".", "..", "/", "a/", "a//b", "a/../b"} {
		_, err := client.Tell[any](t.Context(), &client.Client{Server: address}, "clusters/{name}/revoke", cluster{name}, nil)
		if err == nil || !strings.Contains(err.Error(), "cannot be a name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
