package scan

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// The types of what is signed.
const (
	simpleSigning     = "cosign container image signature"
	inTotoPayload     = "application/vnd.in-toto+json"
	cosignStatement   = "https://sigstore.dev/cosign/sign/v1"
	provenancePrefix  = "https://slsa.dev/provenance/"
	bundleMediaPrefix = "application/vnd.dev.sigstore.bundle"
)

// Verify checks that the evidence of a registry has what a policy requires of an image with a digest. The result is that of a program: code 0 if it
// has, and 1 otherwise. The error is about the keys of the policy.
func Verify(evidence chart.Evidence, policy check.Signatures, digest string) (Ended, error) {
	v := verifier{digest: digest}
	for i, text := range policy.Keys {
		key, err := fleet.PublicKey(text)
		if err != nil {
			return Ended{}, fmt.Errorf("key %d of the policy: %w", i+1, err)
		}
		v.keys = append(v.keys, key)
	}
	v.check(evidence)
	what, has := "signature", v.signed
	if policy.Require == v1alpha1.RequireProvenance {
		what, has = "statement about its provenance", v.provenance
	}
	if has {
		return Ended{}, nil
	}
	why := "there are no signatures and statements"
	if n := len(evidence.Signatures) + len(evidence.Envelopes) + len(evidence.Bundles); n > 0 {
		why = fmt.Sprintf("of %d signatures and statements, %d are by the keys of the policy and about it", n, v.valid)
	}
	return Ended{Code: 1, Output: fmt.Sprintf("no %s by a key of the policy: %s", what, why)}, nil
}

type verifier struct {
	keys   []crypto.PublicKey
	digest string
	// valid is the number of signatures and statements by one of the keys, and about the digest.
	valid              int
	signed, provenance bool
}

func (v *verifier) check(e chart.Evidence) {
	for _, s := range e.Signatures {
		var payload struct {
			Critical struct {
				Type  string `json:"type"`
				Image struct {
					Digest string `json:"docker-manifest-digest"`
				} `json:"image"`
			} `json:"critical"`
		}
		if v.by(s.Payload, s.Signature) && json.Unmarshal(s.Payload, &payload) == nil && payload.Critical.Type == simpleSigning && payload.Critical.Image.Digest == v.digest {
			v.valid++
			v.signed = true
		}
	}
	for _, text := range e.Envelopes {
		v.envelope(text)
	}
	for _, text := range e.Bundles {
		var b struct {
			MediaType string          `json:"mediaType"`
			Envelope  json.RawMessage `json:"dsseEnvelope"`
		}
		if json.Unmarshal(text, &b) == nil && strings.HasPrefix(b.MediaType, bundleMediaPrefix) {
			v.envelope(b.Envelope)
		}
	}
}

// envelope checks an in-toto statement in a DSSE envelope.
func (v *verifier) envelope(text []byte) {
	var e struct {
		Payload     []byte `json:"payload"`
		PayloadType string `json:"payloadType"`
		Signatures  []struct {
			Sig []byte `json:"sig"`
		} `json:"signatures"`
	}
	if json.Unmarshal(text, &e) != nil || e.PayloadType != inTotoPayload || len(e.Signatures) > maxSignatures {
		return
	}
	signed := hub.SignedBytes(e.PayloadType, e.Payload)
	if !slices.ContainsFunc(e.Signatures, func(s struct {
		Sig []byte `json:"sig"`
	},
	) bool {
		return v.by(signed, s.Sig)
	}) {
		return
	}
	var statement struct {
		PredicateType string `json:"predicateType"`
		Subject       []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	if json.Unmarshal(e.Payload, &statement) != nil {
		return
	}
	algorithm, hash, _ := strings.Cut(v.digest, ":")
	for _, s := range statement.Subject {
		if s.Digest[algorithm] == hash && hash != "" {
			v.valid++
			v.signed = v.signed || statement.PredicateType == cosignStatement
			v.provenance = v.provenance || strings.HasPrefix(statement.PredicateType, provenancePrefix)
			return
		}
	}
}

// maxSignatures is the maximum number of signatures of an envelope.
const maxSignatures = 10

// by reports whether one of the keys signed a message.
func (v *verifier) by(message, signature []byte) bool {
	sum := sha256.Sum256(message)
	return slices.ContainsFunc(v.keys, func(key crypto.PublicKey) bool {
		switch key := key.(type) {
		case ed25519.PublicKey:
			return ed25519.Verify(key, message, signature)
		case *ecdsa.PublicKey:
			return ecdsa.VerifyASN1(key, sum[:], signature)
		case *rsa.PublicKey:
			return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
		}
		return false
	})
}
