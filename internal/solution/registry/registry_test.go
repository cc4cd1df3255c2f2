package registry_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	containers "github.com/google/go-containerregistry/pkg/registry"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/provenance"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const password = "correct-horse-battery"

// places are a registry, one without the API of referrers, one that wants a password, and a folder.
func places(t *testing.T) map[string]*registry.Store {
	t.Helper()
	client := &remote.Client{
		PlainHTTP: func(string) bool { return true },
		Credential: func(context.Context, string) (remote.Credential, error) {
			return remote.Credential{User: "ann", Password: secret.New(password)}, nil
		},
	}
	open := func(text string) *registry.Store {
		at, err := registry.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := registry.Open(client, at, true)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	serve := func(h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return "oci://" + strings.TrimPrefix(server.URL, "http://") + "/acme/shop"
	}
	quiet := containers.Logger(log.New(io.Discard, "", 0))
	return map[string]*registry.Store{
		"registry":          open(serve(containers.New(quiet, containers.WithReferrersSupport(true)))),
		"without referrers": open(serve(containers.New(quiet))),
		"with a password":   open(serve(protected(containers.New(quiet, containers.WithReferrersSupport(true))))),
		"folder":            open(filepath.Join(t.TempDir(), "versions")),
	}
}

// protected wants the password.
func protected(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, given, ok := r.BasicAuth(); !ok || user != "ann" || given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// version returns a version of the shop for a merged commit, with a value.
func version(t *testing.T, commit, value string) *solution.Version {
	t.Helper()
	input := func(name, digit string) solution.Input {
		return solution.Input{Repository: "https://git.example.com/acme/" + name, Branch: "dev", Commit: strings.Repeat(digit, 40)}
	}
	v, err := solution.Seal(solution.Descriptor{
		Application: "shop", Environment: "dev", Merged: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Inputs:   solution.Inputs{Source: input("shop", "a"), GitOps: input("shop-gitops", commit)},
		Targets:  []solution.Target{{Name: "east", Folder: "east", Objects: 1}},
		Checks:   solution.Checks{Policy: solution.PolicyBuiltIn, Findings: []check.Finding{}},
		Renderer: solution.Renderer{Name: "kalypso", Version: "v1.2.3"},
	}, []solution.File{{Path: "east/manifests.yaml", Content: []byte("value: " + value + "\n")}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestReleaseSignsWhatItMade and no version of another author, which names a commit that was not checked.
func TestReleaseSignsWhatItMade(t *testing.T) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	store := places(t)["folder"]
	release := func(v *solution.Version, key ed25519.PrivateKey) *registry.Released {
		t.Helper()
		out, err := store.Release(t.Context(), v, registry.Release{Latest: true, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	forged := release(version(t, "e", "one"), nil) // the files, and a commit that does not exist
	out := release(version(t, "1", "one"), private)
	if out.Unchanged || !out.New || !out.Moved || !out.Attested || out.Stored.Artifact == forged.Stored.Artifact {
		t.Errorf("got %+v", out)
	}
	if bundles, err := store.Bundles(t.Context(), forged.Stored); err != nil || len(bundles) > 0 {
		t.Errorf("the forged version has %d attestations, %v", len(bundles), err)
	}
	if again := release(version(t, "2", "one"), private); !again.Unchanged || again.Stored.Artifact != out.Stored.Artifact {
		t.Errorf("after another merge: %+v", again)
	}
}

// TestReleaseSignsNoResultsOfOthers: an artifact with the right files can say that checks found nothing.
func TestReleaseSignsNoResultsOfOthers(t *testing.T) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	found := func(renderer string, findings ...check.Finding) *solution.Version {
		t.Helper()
		v := version(t, "1", "one")
		d := v.Descriptor
		d.Renderer.Version, d.Checks.Findings = renderer, findings
		sealed, err := solution.Seal(d, v.Files)
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	store := places(t)["folder"]
	forged, err := store.Release(t.Context(), found("v9.9.9"), registry.Release{Latest: true})
	if err != nil {
		t.Fatal(err)
	}
	real := found("v1.2.3", check.Finding{Rule: "privileged", Level: check.Warn, File: "east/manifests.yaml", Line: 1, Message: "is privileged"})
	_, err = store.Release(t.Context(), real, registry.Release{Latest: true, Key: private})
	if !errors.Is(err, registry.ErrTaken) || !strings.Contains(err.Error(), "with other results of checks") {
		t.Errorf("got %v", err)
	}
	if bundles, err := store.Bundles(t.Context(), forged.Stored); err != nil || len(bundles) > 0 {
		t.Errorf("the forged version has %d attestations, %v", len(bundles), err)
	}
}

func TestRelease(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range places(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			release := func(v *solution.Version, r registry.Release) *registry.Released {
				t.Helper()
				out, err := store.Release(ctx, v, r)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			tag := func(name string) string {
				t.Helper()
				found, err := store.Get(ctx, name)
				if err != nil {
					t.Fatal(err)
				}
				return found.Artifact
			}
			if _, err := store.Get(ctx, "dev"); !errors.Is(err, registry.ErrNone) {
				t.Fatalf("an empty place: %v", err)
			}
			one := release(version(t, "1", "one"), registry.Release{Latest: true, Key: private, Tags: []string{"1.0.0"}})
			if !one.New || !one.Moved || !one.Attested || !slices.Equal(one.Tags, []string{"dev-111111111111", "1.0.0", "dev"}) {
				t.Errorf("first: %+v", one)
			}
			again := release(version(t, "1", "one"), registry.Release{Latest: true, Key: private, Tags: []string{"1.0.0"}})
			if again.New || again.Moved || again.Attested || again.Stored.Artifact != one.Stored.Artifact {
				t.Errorf("again: %+v", again)
			}
			found, err := store.Get(ctx, one.Stored.Artifact)
			if err != nil || found.Digest() != version(t, "1", "one").Digest() {
				t.Fatalf("by digest: %v", err)
			}
			bundles, err := store.Bundles(ctx, found)
			if err != nil || len(bundles) != 1 {
				t.Fatalf("got %d bundles, %v", len(bundles), err)
			}
			if err := provenance.Verify(bundles[0], found.Version, found.Artifact, public); err != nil {
				t.Error(err)
			}

			// A merge that changed nothing makes no version; the next change does, and moves the environment's tag only.
			if out := release(version(t, "2", "one"), registry.Release{Latest: true}); !out.Unchanged || out.Stored.Artifact != one.Stored.Artifact {
				t.Errorf("unchanged: %+v", out)
			}
			three := release(version(t, "3", "three"), registry.Release{Latest: true})
			if !three.New || tag("dev") != three.Stored.Artifact || tag("dev-111111111111") != one.Stored.Artifact || tag("1.0.0") != one.Stored.Artifact {
				t.Errorf("the next: %+v", three)
			}
			// An older one does not move it back.
			if old := release(version(t, "1", "one"), registry.Release{}); old.New || tag("dev") != three.Stored.Artifact {
				t.Errorf("an older one: %+v", old)
			}

			_, err = store.Release(ctx, version(t, "3", "changed"), registry.Release{Latest: true})
			if !errors.Is(err, registry.ErrTaken) || !strings.Contains(err.Error(), `east/manifests.yaml:1: it has "value: three", not "value: changed"`) {
				t.Errorf("another version of the same commit: %v", err)
			}
			_, err = store.Release(ctx, version(t, "4", "four"), registry.Release{Latest: true, Tags: []string{"1.0.0"}})
			if !errors.Is(err, registry.ErrTaken) || tag("dev") != three.Stored.Artifact {
				t.Errorf("a tag that is taken: %v", err)
			}
			bank := version(t, "5", "five")
			bank.Application = "bank"
			if _, err := store.Release(ctx, bank, registry.Release{Latest: true}); !errors.Is(err, registry.ErrTaken) || !strings.Contains(err.Error(), `the application "shop"`) {
				t.Errorf("another application: %v", err)
			}
		})
	}
}

// TestErrorsHaveNoCredential, whatever a registry answers.
func TestErrorsHaveNoCredential(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, given, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"errors":[{"code":"DENIED","message":"` + given + " " + r.Header.Get("Authorization") + `"}]}`))
	}))
	defer server.Close()
	client := &remote.Client{
		PlainHTTP: func(string) bool { return true },
		Credential: func(context.Context, string) (remote.Credential, error) {
			return remote.Credential{User: "ann", Password: secret.New(password)}, nil
		},
	}
	store, err := registry.Open(client, registry.Reference{Repository: strings.TrimPrefix(server.URL, "http://") + "/acme/shop"}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		func() error { _, err := store.Get(t.Context(), "dev"); return err }(),
		func() error {
			_, err := store.Release(t.Context(), version(t, "1", "one"), registry.Release{})
			return err
		}(),
		func() error {
			_, err := store.Publish(t.Context(), version(t, "1", "one"), nil, "")
			return err
		}(),
	} {
		if err == nil || strings.Contains(err.Error(), password) || strings.Contains(err.Error(), "YW5uOm") || !errors.Is(err, remote.ErrCredential) {
			t.Errorf("got %v", err)
		}
	}
}

func TestParse(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for text, want := range map[string]registry.Reference{
		"oci://registry.example.com/acme/shop":          {Repository: "registry.example.com/acme/shop"},
		"oci://localhost:5000/shop:dev":                 {Repository: "localhost:5000/shop", Tag: "dev"},
		"oci://localhost:5000/shop@" + digest:           {Repository: "localhost:5000/shop", Digest: digest},
		"oci://registry.example.com/shop:dev@" + digest: {Repository: "registry.example.com/shop", Tag: "dev", Digest: digest},
		"versions":             {Folder: "versions"},
		"./a/versions:dev":     {Folder: "./a/versions", Tag: "dev"},
		"./a:b/versions":       {Folder: "./a:b/versions"},
		"versions@" + digest:   {Folder: "versions", Digest: digest},
		"/srv/versions:1.0_rc": {Folder: "/srv/versions", Tag: "1.0_rc"},
	} {
		got, err := registry.Parse(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %+v (%s), %v", text, got, got, err)
		}
	}
	for _, text := range []string{
		"", "oci://", "oci://registry.example.com", "oci://registry.example.com/UPPER", "https://registry.example.com/shop", "oci://registry.example.com/shop:a b",
		"oci://registry.example.com/../shop", "oci://registry.example.com/shop?x=y", "oci://ann:secret@registry.example.com/shop", "oci://registry.example.com/shop@sha256:abc",
		"versions:", "oci://registry.example.com/shop@sha512:" + strings.Repeat("a", 128),
	} {
		if got, err := registry.Parse(text); err == nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

func TestOpenDoesNotCreateAFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "none")
	if _, err := registry.Open(nil, registry.Reference{Folder: folder}, false); err == nil || !strings.Contains(err.Error(), "OCI image layout") {
		t.Errorf("got %v", err)
	}
}
