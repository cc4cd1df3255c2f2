// Package provenance signs what a solution version was made from, and verifies it.
//
//	commits, digest of the artifact ─► in-toto statement ─► DSSE envelope, signed ─► Sigstore bundle ─► referrer of the artifact
//
// The statement has the provenance of SLSA: https://slsa.dev/spec/v1.1/provenance. The bundle is the JSON form of version 0.3 with a
// public key as material, which cosign reads: https://docs.sigstore.dev/about/bundle/. Signatures are Ed25519, which makes
// the same signature each time, so that publishing again adds nothing.
package provenance

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/solution"
)

const (
	// BundleType is the media type of a bundle, and the artifact type of a referrer that has one.
	BundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"
	// PredicateType is the type of the statement's predicate.
	PredicateType = "https://slsa.dev/provenance/v1"
	// MaxBundle is the largest bundle that is read, in bytes.
	MaxBundle = 1 << 20

	statementType = "https://in-toto.io/Statement/v1"
	payloadType   = "application/vnd.in-toto+json"
	project       = "https://github.com/kalypso-io/kalypso"
	// buildType documents what the parameters mean.
	buildType = project + "/blob/main/docs/reference/solution.md"
)

// statement is an in-toto statement: https://github.com/in-toto/attestation/blob/v1.1.0/spec/v1/statement.md.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType            string         `json:"buildType"`
		ExternalParameters   map[string]any `json:"externalParameters"`
		ResolvedDependencies []resource     `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID      string            `json:"id"`
			Version map[string]string `json:"version"`
		} `json:"builder"`
		Byproducts []resource `json:"byproducts"`
	} `json:"runDetails"`
}

// describe returns the statement about a version whose artifact has a digest.
func describe(v *solution.Version, artifact string) statement {
	s := statement{
		Type: statementType, PredicateType: PredicateType,
		Subject: []resource{{Name: v.Title(), Digest: digestSet(artifact)}},
	}
	b := &s.Predicate.BuildDefinition
	b.BuildType = buildType
	b.ExternalParameters = map[string]any{"environment": v.Environment}
	if !v.IsPlatform() {
		b.ExternalParameters["application"] = v.Application
	}
	if v.Release != "" {
		b.ExternalParameters["release"] = v.Release
	}
	for _, input := range v.AllInputs() {
		b.ResolvedDependencies = append(b.ResolvedDependencies, resource{
			Name: input.Name, URI: "git+" + input.Repository + "@refs/heads/" + input.Branch, Digest: map[string]string{"gitCommit": input.Commit},
		})
	}
	s.Predicate.RunDetails.Builder.ID = project
	s.Predicate.RunDetails.Builder.Version = map[string]string{v.Renderer.Name: v.Renderer.Version}
	s.Predicate.RunDetails.Byproducts = []resource{
		{Name: "descriptor", Digest: digestSet(v.Digest())}, {Name: "content", Digest: digestSet(v.Content.Digest)},
	}
	return s
}

func digestSet(digest string) map[string]string {
	algorithm, hash, _ := strings.Cut(digest, ":")
	return map[string]string{algorithm: hash}
}

// bundle is a Sigstore bundle with the fields that a key's signature needs, in their JSON form:
// https://github.com/sigstore/protobuf-specs/blob/v0.4.1/protos/sigstore_bundle.proto.
type bundle struct {
	MediaType            string `json:"mediaType"`
	VerificationMaterial struct {
		PublicKey struct {
			Hint string `json:"hint"`
		} `json:"publicKey"`
	} `json:"verificationMaterial"`
	DSSEEnvelope envelope `json:"dsseEnvelope"`
}

// envelope is a signed content: https://github.com/secure-systems-lab/dsse/blob/v1.0.2/envelope.md. The signature has no ID of the key, because Sigstore
// has another one than [hub.Seal], and refuses the signature of a key that it does not know by its ID.
type envelope struct {
	Payload     []byte      `json:"payload"`
	PayloadType string      `json:"payloadType"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	Sig []byte `json:"sig"`
}

// hint tells keys apart, as cosign does: the digest of the public key in PEM.
func hint(key ed25519.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return hex.EncodeToString(digest[:]), nil
}

// Sign returns a bundle with the signed statement about a version whose artifact has a digest, "sha256:..." of its manifest.
func Sign(v *solution.Version, artifact string, key ed25519.PrivateKey) ([]byte, error) {
	payload, err := json.Marshal(describe(v, artifact))
	if err != nil {
		return nil, err
	}
	b := bundle{MediaType: BundleType, DSSEEnvelope: envelope{
		Payload: payload, PayloadType: payloadType, Signatures: []signature{{ed25519.Sign(key, hub.SignedBytes(payloadType, payload))}},
	}}
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("the key has no public key")
	}
	if b.VerificationMaterial.PublicKey.Hint, err = hint(public); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

// ErrOtherKey is returned for a bundle that another key signed.
var ErrOtherKey = errors.New("it was signed with another key")

// Verify checks that a key signed the statement in a bundle, and that the statement is about the artifact with a digest, and has the
// commits of its version.
func Verify(text []byte, v *solution.Version, artifact string, key ed25519.PublicKey) error {
	var b bundle
	if len(text) > MaxBundle {
		return errors.New("the bundle is too large")
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return fmt.Errorf("parse the bundle: %w", err)
	}
	e := b.DSSEEnvelope
	if b.MediaType != BundleType || e.PayloadType != payloadType {
		return fmt.Errorf("it is not a Sigstore bundle of version 0.3 with a statement: %.100q with %.100q", b.MediaType, e.PayloadType)
	}
	if !slices.ContainsFunc(e.Signatures, func(s signature) bool { return ed25519.Verify(key, hub.SignedBytes(e.PayloadType, e.Payload), s.Sig) }) {
		return ErrOtherKey
	}
	var has statement
	decoder := json.NewDecoder(bytes.NewReader(e.Payload))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&has); err != nil {
		return fmt.Errorf("parse the statement: %w", err)
	}
	if wants := describe(v, artifact); !reflect.DeepEqual(has, wants) {
		return errors.New("what was signed is a statement about another version")
	}
	return nil
}
