package wiring

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/solution/provenance"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// registryOf starts the embedded registry, which can be out of order. env has the credential for it.
func registryOf(t *testing.T) (url string, broken *atomic.Bool, env func(string) string) {
	t.Helper()
	broken = &atomic.Bool{}
	s := newRegistryServer(t, "never")
	token, err := os.ReadFile(filepath.Join(s.Config.Data, AdminTokenFile))
	if err != nil {
		t.Fatal(err)
	}
	works := s.server.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusInsufficientStorage)
			return
		}
		works.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	return "oci://" + host + "/solutions", broken, func(name string) string {
		return map[string]string{remote.EnvHost: host, remote.EnvUser: "kalypso", remote.EnvPassword: strings.TrimSpace(string(token))}[name]
	}
}

func TestServerPublishesWhatIsMerged(t *testing.T) {
	t.Parallel()
	s, d := registeredShop(t)
	url, broken, env := registryOf(t)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	keyFile := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	if d.flows.applications.Publisher, err = newPublisher(serve.PublishConfig{To: url, KeyFile: keyFile}, env); err != nil {
		t.Fatal(err)
	}
	at := registry.Reference{Repository: strings.TrimPrefix(url, "oci://") + "/kaizen/shop"}
	store, err := registry.Open(d.flows.applications.Publisher.Client, at, false)
	if err != nil {
		t.Fatal(err)
	}

	// A registry that does not work stops no delivery, and is tried again.
	broken.Store(true)
	commit := s.built("1.4.0")
	problems := s.deliver(t, d)
	if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, `environment "dev": publish: `) }) {
		t.Errorf("got the problems %q", problems)
	}
	broken.Store(false)
	if problems := s.deliver(t, d); len(problems) > 0 {
		t.Errorf("got the problems %q", problems)
	}
	found, err := store.Get(t.Context(), "dev")
	if err != nil {
		t.Fatal(err)
	}
	if found.Release != "1.4.0" || found.Inputs.Source.Commit != commit || found.Inputs.GitOps.Commit != s.Head(shopGitOps, "dev") || found.Workspace != "kaizen" || found.Checks.Policy != "platform" {
		t.Errorf("got %+v", found.Descriptor)
	}
	bundles, err := store.Bundles(t.Context(), found)
	if err != nil || len(bundles) != 1 {
		t.Fatalf("got %d bundles, %v", len(bundles), err)
	}
	if err := provenance.Verify(bundles[0], found.Version, found.Artifact, public); err != nil {
		t.Error(err)
	}

	// The next configuration is the next version; nothing is published of what is only proposed.
	s.Push(shopConfigs, "dev", map[string]string{"functional-test/values.yaml": "replicas: 4\n"})
	s.deliver(t, d)
	next, err := store.Get(t.Context(), "dev")
	if err != nil || next.Artifact == found.Artifact {
		t.Errorf("got %s again, %v", found.Artifact, err)
	}
	if _, err := store.Get(t.Context(), registry.VersionTag(found.Version)); err != nil {
		t.Error(err)
	}
	s.report()
	s.deliver(t, d)
	s.open("stage")
	if _, err := store.Get(t.Context(), "stage"); err == nil {
		t.Error("stage is published before it is merged")
	}
	s.mergeIn("stage")
	s.deliver(t, d)
	if _, err := store.Get(t.Context(), "stage"); err != nil {
		t.Error(err)
	}

	// A change by hand is no version, which is said; the pull request that restores it makes one again.
	files := s.Files(shopGitOps, "stage")
	s.Push(shopGitOps, "stage", map[string]string{"uat-test/manifests.yaml": files["uat-test/manifests.yaml"] + "---\n"})
	if problems := s.deliver(t, d); len(problems) == 0 || !strings.Contains(problems[0], "has files that its inputs do not render: uat-test/manifests.yaml") {
		t.Errorf("got the problems %q", problems)
	}
	s.mergeIn("stage")
	if problems := s.deliver(t, d); len(problems) > 0 {
		t.Errorf("got the problems %q", problems)
	}
	last, err := store.Get(t.Context(), "stage")
	if err != nil || last.Inputs.GitOps.Commit == "" {
		t.Errorf("got %v", err)
	}
}

func TestNewPublisherRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []serve.PublishConfig{
		{To: "folder"}, {To: "oci://registry.example.com"}, {To: "oci://registry.example.com/a:tag"}, {To: "oci://registry.example.com/a", KeyFile: "none"},
	} {
		if _, err := newPublisher(c, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "publish.") {
			t.Errorf("%+v: got %v", c, err)
		}
	}
	if p, err := newPublisher(serve.PublishConfig{}, nil); p != nil || err != nil {
		t.Errorf("nothing is configured: got %v, %v", p, err)
	}
}
