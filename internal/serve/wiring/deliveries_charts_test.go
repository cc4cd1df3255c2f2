package wiring

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

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// TestServersReadPrivateRegistries checks that tags are looked up with the credentials in docker's configuration file,
// even if it is written after the start.
func TestServersReadPrivateRegistries(t *testing.T) {
	t.Parallel()
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
	env := map[string]string{remote.EnvDockerConfig: t.TempDir()}
	work := &Flows{Client: &git.Client{Env: func(name string) string { return env[name] }}}
	config := &serve.Config{Data: t.TempDir(), Verify: serve.VerifyConfig{Programs: []string{"/bin/true"}, Hosts: []string{"127.0.0.1"}}}
	look := func() scan.Result {
		t.Helper()
		d, scans, err := newApplications(config, work, &serve.Keeper{})
		if err != nil {
			t.Fatal(err)
		}
		defer scans.Close()
		d.Charts.PlainHTTP = func(string) bool { return true }
		wanted := []check.Scan{{Name: "any", What: check.Images, Args: []string{"/bin/true"}, Level: check.Refuse}}
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			r := scans.Results(t.Context(), wanted, []scan.Artifact{{What: check.Images, Reference: host + "/team/shop:1.4.0"}})[0]
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
		if err := os.WriteFile(filepath.Join(env[remote.EnvDockerConfig], "config.json"), []byte(docker), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := look(); (r.State == scan.Passed && r.Digest == digest) != (of == host) {
			t.Errorf("with a credential for %s: %+v", of, r)
		}
	}
}
