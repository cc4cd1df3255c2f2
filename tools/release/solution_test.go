package main

import (
	"encoding/hex"
	"path/filepath"
	"testing"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

// TestSigstoreReadsTheBundleOfAVersion: the program writes bundles of solution versions without the library of Sigstore, which would double its size. That
// library verifies them, for the digest of the artifact as cosign does.
func TestSigstoreReadsTheBundleOfAVersion(t *testing.T) {
	folder := filepath.Join("..", "..", "internal", "solution", "provenance", "testdata")
	b, err := bundle.LoadJSONFromPath(filepath.Join(folder, "bundle.sigstore.json"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := readPublicKey(filepath.Join(folder, "key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	for digest, good := range map[string]bool{
		"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08": true,
		"0086d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08": false,
	} {
		raw, err := hex.DecodeString(digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifyBundle(b, key, verify.WithArtifactDigest("sha256", raw)); (err == nil) != good {
			t.Errorf("digest %s: %v", digest, err)
		}
	}
}
