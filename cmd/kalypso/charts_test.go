package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// TestServersReadPrivateRegistries: tags are looked up with what docker's file has for the host, also when it is written later.
func TestServersReadPrivateRegistries(t *testing.T) {
	digest := "sha256:" + strings.Repeat("1", 64)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "open-sesame" {
			w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
		w.Header().Set("Docker-Content-Digest", digest)
		w.Header().Set("Content-Length", "2")
	}))
	defer registry.Close()
	host := strings.TrimPrefix(registry.URL, "http://")
	env := map[string]string{envDockerConfig: t.TempDir()}
	work := &flows{client: &git.Client{Env: func(name string) string { return env[name] }}}
	config := &serve.Config{Data: t.TempDir(), Verify: serve.VerifyConfig{Programs: []string{"/bin/true"}, Hosts: []string{"127.0.0.1"}}}
	look := func() scan.Result {
		t.Helper()
		d, end, err := newDeliveries(config, work, &chains{}, &serve.Keeper{})
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		d.charts.PlainHTTP = func(string) bool { return true }
		scans := []check.Scan{{Name: "any", What: check.Images, Args: []string{"/bin/true"}, Level: check.Refuse}}
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			r := d.scanner.Results(t.Context(), scans, []scan.Artifact{{What: check.Images, Reference: host + "/team/shop:1.4.0"}})[0]
			if r.State != scan.Running || time.Now().After(deadline) {
				return r
			}
		}
	}
	if r := look(); r.State != scan.Waiting || !strings.Contains(r.Reason, "the credential for the registry is missing") {
		t.Errorf("without a credential: %+v", r)
	}
	for _, of := range []string{"registry.example", host} {
		docker := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, of, base64.StdEncoding.EncodeToString([]byte("me:open-sesame")))
		if err := os.WriteFile(filepath.Join(env[envDockerConfig], "config.json"), []byte(docker), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := look(); (r.State == scan.Passed && r.Digest == digest) != (of == host) {
			t.Errorf("with a credential for %s: %+v", of, r)
		}
	}
}

func TestRegistryCredential(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	if err := os.Mkdir(".docker", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(".docker/config.json", []byte(`{"auths": {"a.example": {"auth": "bWU6ZG9ja2Vy"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{envChartHost: "a.example", envChartUser: "me", envChartPassword: "variable"}
	for _, tc := range []struct {
		name, host, want string
		env              map[string]string
	}{
		{"docker's file", "a.example", "docker", map[string]string{"HOME": home}},
		{"of another folder", "a.example", "", map[string]string{"HOME": home, envDockerConfig: t.TempDir()}},
		{"another host", "b.example", "", map[string]string{"HOME": home}},
		{"nobody's home", "a.example", "", nil},
		{"variables", "a.example", "variable", variables},
		{"variables for another host", "b.example", "", variables},
	} {
		got, err := registryCredential(func(name string) string { return tc.env[name] })(t.Context(), tc.host)
		if err != nil || got.Password.Reveal() != tc.want {
			t.Errorf("%s: got %q, %v, want %q", tc.name, got.Password.Reveal(), err, tc.want)
		}
	}
}
