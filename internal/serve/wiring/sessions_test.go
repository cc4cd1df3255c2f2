package wiring

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// The embedded forge allows anonymous reading to the same clients as the API and the pages.
func TestAnonymousReadingOfTheForge(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		anonymous, listen string
		header            http.Header
		host              string
		git, api          int
	}{
		{"local", "127.0.0.1:8080", nil, "127.0.0.1:8080", 200, 200},
		{"local", "127.0.0.1:8080", nil, "localhost:8080", 200, 200},
		{"local", "127.0.0.1:8080", http.Header{"X-Forwarded-For": {"203.0.113.9"}}, "127.0.0.1:8080", 401, 401},
		{"local", "127.0.0.1:8080", nil, "kalypso.example.com", 401, 401},
		{"local", "127.0.0.1:8080", nil, "evil.example", 421, 421},
		{"local", "0.0.0.0:8080", nil, "127.0.0.1:8080", 401, 401},
		{"never", "127.0.0.1:8080", nil, "127.0.0.1:8080", 401, 401},
		{"always", "0.0.0.0:8080", nil, "kalypso.default.svc", 200, 200},
	} {
		config, err := serve.ParseConfig(nil, func(c *serve.Config) {
			c.Data, c.URL, c.Listen, c.Access.Anonymous = t.TempDir(), "http://kalypso.example.com", tc.listen, tc.anonymous
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
		if _, err := s.LocalForge.CreateRepository(t.Context(), forge.NewRepository{Owner: "platform", Name: "gitops"}); err != nil {
			t.Fatal(err)
		}
		handler := s.server.Handler()
		for path, want := range map[string]int{
			"/platform/gitops.git/info/refs?service=git-upload-pack": tc.git, "/api/v1/environments": tc.api, "/metrics": tc.api,
		} {
			r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
			r.RemoteAddr, r.Host = "127.0.0.1:9999", tc.host
			for name, values := range tc.header {
				r.Header[name] = values
			}
			handler.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s %s, host %s, %v: %s answers %d, want %d", tc.anonymous, tc.listen, tc.host, tc.header, path, w.Code, want)
			}
		}
		s.Close()
	}
}

// TestOneSignIn checks that a browser signs in once for the fleet's pages, the local forge and the API.
func TestOneSignIn(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	config, err := serve.ParseConfig(nil, func(c *serve.Config) {
		c.Data, c.URL, c.Access.Anonymous = data, "http://kalypso.example.com", "never"
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
	defer s.Close()
	served := httptest.NewServer(s.server.Handler())
	defer served.Close()
	jar, _ := cookiejar.New(nil)
	b := &http.Client{Jar: jar}
	see := func(path string) (int, string) {
		t.Helper()
		a, err := b.Get(served.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, _ := io.ReadAll(a.Body)
		return a.StatusCode, string(text)
	}
	if status, _ := see("/api/v1/environments"); status != http.StatusUnauthorized {
		t.Errorf("the API answers an anonymous client with %d", status)
	}
	_, page := see("/-/sign-in?to=/-/repositories")
	form := regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`).FindStringSubmatch(page)
	token, err := os.ReadFile(filepath.Join(data, AdminTokenFile))
	if err != nil || form == nil {
		t.Fatalf("no form, or no token: %v\n%s", err, page)
	}
	a, err := b.PostForm(served.URL+"/-/sign-in", url.Values{"csrf": {form[1]}, "token": {string(token)}, "to": {"/-/repositories"}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	if a.Request.URL.Path != "/-/repositories" || !strings.Contains(string(text), "Sign out") || !strings.Contains(string(text), "admin") {
		t.Errorf("the forge shows at %s:\n%s", a.Request.URL, text)
	}
	if status, text := see("/api/v1/whoami"); status != http.StatusOK || !strings.Contains(text, `"source":"session"`) || !strings.Contains(text, `"role":"admin"`) {
		t.Errorf("the API answers %d %s", status, text)
	}
	if status, text := see("/"); status != http.StatusOK || !strings.Contains(text, "admin") {
		t.Errorf("the pages answer %d:\n%s", status, text)
	}
	for file, want := range map[string]os.FileMode{sessionKeyFile: 0o600} {
		if info, err := os.Stat(filepath.Join(data, file)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
}
