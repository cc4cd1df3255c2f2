package wiring

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/provenance"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// newKey returns a public key, and the file of its private key.
func newKey(t *testing.T) (ed25519.PublicKey, string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return public, file
}

// notPublishedOf returns the messages of the problems that say that a commit is not published.
func notPublishedOf(o *schedule.Outcome) (messages []string) {
	for _, p := range o.Plan.Problems {
		if p.Kind == fleet.KindNotPublished {
			messages = append(messages, p.Message)
		}
	}
	return messages
}

func TestServerPublishesThePlatform(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	place, broken, env := registryOf(t)
	public, keyFile := newKey(t)
	config := &serve.Config{Publish: serve.PublishConfig{KeyFile: keyFile}, Verify: serve.VerifyConfig{Hosts: []string{"127.0.0.1"}}}
	var err error
	if w.flows.publisher, err = newPlatformPublisher(config, "v1.2.3", env); err != nil {
		t.Fatal(err)
	}
	store, err := registry.Open(w.flows.publisher.Client, registry.Reference{Repository: strings.TrimPrefix(place, "oci://") + "/platform"}, false)
	if err != nil {
		t.Fatal(err)
	}
	w.Edit("dev", "gitops-repo.yaml", "spec:", "spec:\n  publish: "+place+"/platform")

	// What is only proposed is not published, and that nothing was merged is no problem.
	if o := w.round("dev"); len(notPublishedOf(o)) > 0 {
		t.Errorf("got %q", notPublishedOf(o))
	}
	if _, err := store.Get(t.Context(), "dev"); !errors.Is(err, registry.ErrNone) {
		t.Errorf("got %v before anything is merged", err)
	}

	// A registry that does not work stops no round, and is tried again.
	w.Merge()
	broken.Store(true)
	if got := notPublishedOf(w.round("dev")); len(got) != 1 || !strings.Contains(got[0], "is not published to "+place+"/platform: ") {
		t.Errorf("got %q", got)
	}
	broken.Store(false)
	o := w.round("dev")
	if len(notPublishedOf(o)) > 0 || !slices.ContainsFunc(o.Did, func(d string) bool { return strings.HasPrefix(d, "published "+place+"/platform@sha256:") }) {
		t.Errorf("did %q, problems %q", o.Did, notPublishedOf(o))
	}
	first, err := store.Get(t.Context(), "dev")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"command-center", "drone", "large", "small"}
	var targets []string
	for _, target := range first.Targets {
		targets = append(targets, target.Folder)
	}
	if !slices.Equal(targets, want) || !first.IsPlatform() || first.Inputs.GitOps.Commit != w.Head(fleettest.GitOps, "dev") ||
		first.Inputs.Platform.Environment.Commit != w.Head(fleettest.ControlPlane, "dev") || first.Renderer.Version != "v1.2.3" {
		t.Errorf("got %+v", first.Descriptor)
	}
	bundles, err := store.Bundles(t.Context(), first)
	if err != nil || len(bundles) != 1 {
		t.Fatalf("got %d bundles, %v", len(bundles), err)
	}
	if err := provenance.Verify(bundles[0], first.Version, first.Artifact, public); err != nil {
		t.Error(err)
	}
	if again := w.round("dev"); len(again.Did) > 0 {
		t.Errorf("the same commit again did %q", again.Did)
	}

	// Configuration that is merged is the next version.
	w.Edit("dev", westConfig, "mysql://west:", "mysql://west-2:")
	w.round("dev")
	w.Merge()
	w.round("dev")
	second, err := store.Get(t.Context(), "dev")
	if err != nil || second.Artifact == first.Artifact {
		t.Fatalf("got %s again, %v", first.Artifact, err)
	}
	changed := solution.CompareFiles(first.Version, second.Files)
	if !slices.ContainsFunc(changed, func(d solution.Difference) bool {
		return d.Target == "large" && strings.HasSuffix(d.File, "platform-config.yaml")
	}) {
		t.Errorf("got the differences %+v", changed)
	}
	if _, err := store.Get(t.Context(), registry.VersionTag(first.Version)); err != nil {
		t.Error(err)
	}

	// A change by hand is no version, which is said; it is when the pull request that restores the files is merged.
	const file = "large/nginx-dev/namespace.yaml"
	w.Push(fleettest.GitOps, "dev", map[string]string{file: w.Files(fleettest.GitOps, "dev")[file] + "---\n"})
	if got := notPublishedOf(w.round("dev")); len(got) != 1 || !strings.Contains(got[0], "has files that its inputs do not render: "+file) {
		t.Errorf("got %q", got)
	}
	w.Merge()
	if got := notPublishedOf(w.round("dev")); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestEnvironmentWithRingsIsPublishedWithoutItsTag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	place, _, env := registryOf(t)
	config := &serve.Config{Verify: serve.VerifyConfig{Hosts: []string{"127.0.0.1"}}}
	var err error
	if w.flows.publisher, err = newPlatformPublisher(config, "v1.2.3", env); err != nil {
		t.Fatal(err)
	}
	w.Edit("main", ".environments/dev.yaml", "promotion:", "promotion:\n    rings: [{name: canary, percent: 10}, {name: others}]")
	w.Edit("dev", "gitops-repo.yaml", "spec:", "spec:\n  publish: "+place+"/platform")
	w.round("dev")
	w.Merge()
	if o := w.round("dev"); len(notPublishedOf(o)) > 0 {
		t.Fatalf("got %q", notPublishedOf(o))
	}
	store, err := registry.Open(w.flows.publisher.Client, registry.Reference{Repository: strings.TrimPrefix(place, "oci://") + "/platform"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(t.Context(), "dev-"+w.Head(fleettest.GitOps, "dev")[:12]); err != nil {
		t.Error(err)
	}
	if _, err := store.Get(t.Context(), "dev"); !errors.Is(err, registry.ErrNone) {
		t.Errorf("the environment's tag would reach all rings at once: %v", err)
	}
}

// A control plane does not make the server send requests to its own network.
func TestServerPublishesToNoPrivateAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	place, _, env := registryOf(t)
	var err error
	if w.flows.publisher, err = newPlatformPublisher(&serve.Config{}, "v1.2.3", env); err != nil {
		t.Fatal(err)
	}
	w.Edit("dev", "gitops-repo.yaml", "spec:", "spec:\n  publish: "+place+"/platform")
	w.round("dev")
	w.Merge()
	if got := notPublishedOf(w.round("dev")); len(got) != 1 || !strings.Contains(got[0], "127.0.0.1") || !strings.Contains(got[0], "verify.hosts") {
		t.Errorf("got %q", got)
	}
}
