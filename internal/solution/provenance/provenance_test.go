package provenance_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/provenance"
)

var update = flag.Bool("update", false, "rewrite the golden bundle")

const artifact = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// key is a key that everyone knows.
func key() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

func version(t testing.TB) *solution.Version {
	t.Helper()
	input := func(name, digit string) solution.Input {
		return solution.Input{Repository: "https://git.example.com/acme/" + name, Branch: "main", Commit: strings.Repeat(digit, 40)}
	}
	config := input("shop-configs", "b")
	v, err := solution.Seal(solution.Descriptor{
		Application: "shop", Environment: "dev", Release: "1.4.0", Merged: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Inputs:   solution.Inputs{Source: input("shop", "a"), Config: &config, GitOps: input("shop-gitops", "c")},
		Targets:  []solution.Target{{Name: "east", Folder: "east", Objects: 1}},
		Checks:   solution.Checks{Policy: solution.PolicyBuiltIn, Findings: []check.Finding{}},
		Renderer: solution.Renderer{Name: "kalypso", Version: "v1.2.3"},
	}, []solution.File{{Path: "east/manifests.yaml", Content: []byte("kind: ConfigMap\n")}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestGolden holds the format: the tests of tools/release verify the same file with the library of Sigstore.
func TestGolden(t *testing.T) {
	got, err := provenance.Sign(version(t), artifact, key())
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "bundle.sigstore.json")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the bundle is %s", got)
	}
	var parts struct {
		DSSEEnvelope struct{ Payload []byte }
	}
	if err := json.Unmarshal(got, &parts); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`"subject":[{"name":"shop for dev","digest":{"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}}]`,
		`{"name":"source","uri":"git+https://git.example.com/acme/shop@refs/heads/main","digest":{"gitCommit":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}`,
	} {
		if !strings.Contains(string(parts.DSSEEnvelope.Payload), text) {
			t.Errorf("the statement has no %s: %s", text, parts.DSSEEnvelope.Payload)
		}
	}
}

func TestVerify(t *testing.T) {
	v, private := version(t), key()
	public := private.Public().(ed25519.PublicKey)
	text, err := provenance.Sign(v, artifact, private)
	if err != nil {
		t.Fatal(err)
	}
	if err := provenance.Verify(text, v, artifact, public); err != nil {
		t.Error(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := provenance.Verify(text, v, artifact, other); !errors.Is(err, provenance.ErrOtherKey) {
		t.Errorf("another key: %v", err)
	}
	if err := provenance.Verify(text, v, strings.Replace(artifact, "9f", "00", 1), public); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("another artifact: %v", err)
	}
	moved := version(t)
	moved.Inputs.Source.Commit = strings.Repeat("d", 40)
	if err := provenance.Verify(text, moved, artifact, public); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("another commit: %v", err)
	}
	// What is signed is the statement with its type, so neither can be exchanged.
	for old, now := range map[string]string{
		"application/vnd.in-toto+json":                                        "application/json",
		base64.StdEncoding.EncodeToString([]byte(`{"_type":"https://in-tot`)): base64.StdEncoding.EncodeToString([]byte(`{"_type":"https://in-t0t`)),
		provenance.BundleType:                                                 "application/vnd.dev.sigstore.bundle.v0.2+json",
	} {
		if !bytes.Contains(text, []byte(old)) {
			t.Fatalf("the bundle has no %s", old)
		}
		if err := provenance.Verify(bytes.Replace(text, []byte(old), []byte(now), 1), v, artifact, public); err == nil {
			t.Errorf("accepted with %s", now)
		}
	}
}

func FuzzVerify(f *testing.F) {
	v, private := version(f), key()
	text, err := provenance.Sign(v, artifact, private)
	if err != nil {
		f.Fatal(err)
	}
	public := private.Public().(ed25519.PublicKey)
	f.Add(bytes.Replace(text, []byte(`"sig": "`), []byte(`"sig": "AAAA`), 1))
	f.Add([]byte(`{"mediaType":"` + provenance.BundleType + `"}`))
	f.Fuzz(func(t *testing.T, bundle []byte) {
		other := *v
		other.Release = "1.4.1" // nothing was signed for it
		if provenance.Verify(bundle, &other, artifact, public) == nil {
			t.Error("accepted a bundle that the key did not sign")
		}
	})
}
