package scan_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
)

// signer is a key that signs as cosign does.
type signer struct {
	crypto.Signer
	testing.TB
}

func signersOf(t *testing.T) map[string]signer {
	t.Helper()
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]signer{"Ed25519": {edwards, t}, "ECDSA": {curve, t}, "RSA": {numbers, t}}
}

func (s signer) sign(message []byte) []byte {
	options, digest := crypto.SignerOpts(crypto.SHA256), message
	if _, ok := s.Signer.(ed25519.PrivateKey); ok {
		options = crypto.Hash(0)
	} else {
		sum := sha256.Sum256(message)
		digest = sum[:]
	}
	signature, err := s.Sign(rand.Reader, digest, options)
	if err != nil {
		s.Fatal(err)
	}
	return signature
}

func (s signer) pem() string {
	der, err := x509.MarshalPKIXPublicKey(s.Public())
	if err != nil {
		s.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func (s signer) simple(digest string) chart.Evidence {
	payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":"r/shop"},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, digest)
	return chart.Evidence{Signatures: []chart.Signature{{Payload: payload, Signature: s.sign(payload)}}}
}

func (s signer) envelope(digest, predicate string) []byte {
	const kind = "application/vnd.in-toto+json"
	payload := fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`, strings.TrimPrefix(digest, "sha256:"), predicate)
	text, err := json.Marshal(map[string]any{"payload": payload, "payloadType": kind, "signatures": []any{map[string]any{"sig": s.sign(hub.SignedBytes(kind, payload))}}})
	if err != nil {
		s.Fatal(err)
	}
	return text
}

func bundleOf(envelope []byte) []byte {
	return fmt.Appendf(nil, `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","dsseEnvelope":%s}`, envelope)
}

func TestSignaturesOfImages(t *testing.T) {
	digest, other := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	const slsa, cosign = "https://slsa.dev/provenance/v1", "https://sigstore.dev/cosign/sign/v1"
	signers := signersOf(t)
	strangers := signersOf(t)
	stranger, first := strangers["ECDSA"], strangers["Ed25519"].pem()
	for name, s := range signers {
		changed := s.simple(digest)
		changed.Signatures[0].Payload = append([]byte(" "), changed.Signatures[0].Payload...)
		for _, c := range []struct {
			what               string
			evidence           chart.Evidence
			signed, provenance bool
		}{
			{"nothing", chart.Evidence{}, false, false},
			{"a signature", s.simple(digest), true, false},
			{"a signature of another image", s.simple(other), false, false},
			{"a changed payload", changed, false, false},
			{"another key", stranger.simple(digest), false, false},
			{"a bundle of cosign", chart.Evidence{Bundles: [][]byte{bundleOf(s.envelope(digest, cosign))}}, true, false},
			{"provenance", chart.Evidence{Envelopes: [][]byte{s.envelope(digest, slsa)}}, false, true},
			{"provenance in a bundle", chart.Evidence{Bundles: [][]byte{bundleOf(s.envelope(digest, slsa))}}, false, true},
			{"provenance of another image", chart.Evidence{Envelopes: [][]byte{s.envelope(other, slsa)}}, false, false},
			{"provenance by another key", chart.Evidence{Envelopes: [][]byte{stranger.envelope(digest, slsa)}}, false, false},
			{"another statement", chart.Evidence{Envelopes: [][]byte{s.envelope(digest, "https://spdx.dev/Document")}}, false, false},
			{"a bundle that is none", chart.Evidence{Bundles: [][]byte{s.envelope(digest, slsa), []byte(`{`), nil, []byte(`[]`)}, Envelopes: [][]byte{[]byte("null"), []byte(`"x"`)}}, false, false},
		} {
			for require, want := range map[v1alpha1.SignatureKind]bool{v1alpha1.RequireSignature: c.signed, v1alpha1.RequireProvenance: c.provenance} {
				policy := check.Signatures{Keys: []string{first, s.pem()}, Require: require}
				ended, err := scan.Verify(c.evidence, policy, digest)
				if err != nil || (ended.Code == 0) != want || (ended.Output == "") != want {
					t.Errorf("%s, %s, %s: got %+v, %v", name, c.what, require, ended, err)
				}
			}
		}
	}
	if _, err := scan.Verify(chart.Evidence{}, check.Signatures{Keys: []string{"nonsense"}}, digest); err == nil || !strings.Contains(err.Error(), "key 1 of the policy: it is not a public key in PEM") {
		t.Errorf("got %v", err)
	}
}
