package git

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Metadata services, which have credentials of the machine, are not reached by URLs that users write, nor by redirects.
func TestMetadataServicesAreNotReached(t *testing.T) {
	redirects := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest/info/refs", http.StatusMovedPermanently))
	t.Cleanup(redirects.Close)
	for _, url := range []string{
		"http://169.254.169.254/latest", "https://[fe80::1]/x", "http://metadata.google.internal/x", "ssh://git@169.254.169.254:80/x", "http://[::ffff:169.254.169.254]/x",
		redirects.URL + "/team/repository",
	} {
		wantKind(t, tryResolve(t, limitedClient(t, Limits{}), url), ErrDenied, "use the URL of a Git server")
	}
}
