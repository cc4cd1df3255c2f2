package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	checksumsFile  = "checksums.txt"
	provenanceFile = "provenance.json"
	bundleFile     = "provenance.sigstore.json"
	statementType  = "https://in-toto.io/Statement/v1"
	provenanceType = "https://slsa.dev/provenance/v1"
	payloadType    = "application/vnd.in-toto+json"
)

// statement is an in-toto statement with a SLSA provenance: https://slsa.dev/spec/v1.1/provenance.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []subject  `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

type provenance struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]any    `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []subject         `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// commit is the one that was built.
func (s *statement) commit() string {
	for _, d := range s.Predicate.BuildDefinition.ResolvedDependencies {
		if commit := d.Digest["gitCommit"]; commit != "" {
			return commit
		}
	}
	return ""
}

// images returns the images, whose names have a tag; files have none.
func (s *statement) images() []subject {
	return slices.DeleteFunc(slices.Clone(s.Subject), func(f subject) bool { return !strings.Contains(f.Name, ":") })
}

// finish writes the checksums of all files, and the statement of how they were built, which is signed if there is a key.
func (r *release) finish(binaries []*binary) error {
	files, err := digests(r.out)
	if err != nil {
		return err
	}
	err = create(r.file(checksumsFile), func(w io.Writer) error {
		for _, f := range files {
			if _, err := fmt.Fprintf(w, "%s  %s\n", f.Digest["sha256"], f.Name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s := statement{Type: statementType, Subject: append(files, r.images...), PredicateType: provenanceType}
	definition := &s.Predicate.BuildDefinition
	definition.BuildType = r.Source + "/blob/" + r.commit + "/tools/release"
	var platforms []string
	for _, p := range r.platforms {
		platforms = append(platforms, p.String())
	}
	definition.ExternalParameters = map[string]any{"version": r.version, "platforms": platforms}
	definition.InternalParameters = map[string]string{"go": binaries[0].info.GoVersion}
	definition.ResolvedDependencies = []subject{{URI: "git+" + r.Source + "@" + r.version, Digest: map[string]string{"gitCommit": r.commit}}}
	s.Predicate.RunDetails.Builder.ID = r.Source + "/tree/main/tools/release"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if err := create(r.file(provenanceFile), func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	if r.key == nil {
		fmt.Fprintln(r.log, "the release is not signed: name a key with --key")
		return nil
	}
	signed, err := r.key.bundle(text)
	if err != nil {
		return fmt.Errorf("sign the release: %w", err)
	}
	return create(r.file(bundleFile), func(w io.Writer) error { _, err := w.Write(signed); return err })
}

// digests returns the files of a folder with their digests, sorted by name, without those that describe the others.
func digests(folder string) ([]subject, error) {
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []subject
	for _, f := range list {
		if slices.Contains([]string{checksumsFile, provenanceFile, bundleFile}, f.Name()) {
			continue
		}
		digest, err := digestOf(filepath.Join(folder, f.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, subject{Name: f.Name(), Digest: map[string]string{"sha256": digest}})
	}
	return files, nil
}

func digestOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// signingKey signs with Ed25519. It is a [sign.Keypair].
type signingKey struct{ private ed25519.PrivateKey }

var _ sign.Keypair = (*signingKey)(nil)

// readKey reads a private key in PEM, as "openssl genpkey -algorithm ed25519" writes it.
func readKey(name string) (*signingKey, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s has no key in PEM", name)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s has no private key in PKCS #8", name)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s has a key of another kind than Ed25519, whose signatures are the same each time: make one with openssl genpkey -algorithm ed25519", name)
	}
	return &signingKey{private}, nil
}

// bundle returns a Sigstore bundle with the signed statement, which cosign can verify.
func (k *signingKey) bundle(text []byte) ([]byte, error) {
	b, err := sign.Bundle(&sign.DSSEData{Data: text, PayloadType: payloadType}, k, sign.BundleOptions{})
	if err != nil {
		return nil, err
	}
	out, err := protojson.Marshal(b)
	if err != nil {
		return nil, err
	}
	// The library varies spaces on purpose.
	var indented bytes.Buffer
	if err := json.Indent(&indented, out, "", "  "); err != nil {
		return nil, err
	}
	return append(indented.Bytes(), '\n'), nil
}

func (k *signingKey) public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) } //nolint:forcetypeassert // it has no other type

// GetHint returns what tells keys apart, as cosign does.
func (k *signingKey) GetHint() []byte {
	text, _ := k.GetPublicKeyPem()
	digest := sha256.Sum256([]byte(text))
	return []byte(hex.EncodeToString(digest[:]))
}

func (k *signingKey) GetHashAlgorithm() protocommon.HashAlgorithm {
	return protocommon.HashAlgorithm_SHA2_512
}

func (k *signingKey) GetSigningAlgorithm() protocommon.PublicKeyDetails {
	return protocommon.PublicKeyDetails_PKIX_ED25519
}
func (k *signingKey) GetKeyAlgorithm() string        { return "ED25519" }
func (k *signingKey) GetPublicKey() crypto.PublicKey { return k.public() }

// GetPublicKeyPem returns the public key in PEM.
func (k *signingKey) GetPublicKeyPem() (string, error) {
	der, err := x509.MarshalPKIXPublicKey(k.public())
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}

// SignData signs what is given, which Ed25519 does not hash first.
func (k *signingKey) SignData(_ context.Context, data []byte) (sig, digest []byte, err error) {
	return ed25519.Sign(k.private, data), data, nil
}

// verifyRelease checks that the signature of a release is that of a key, and that each file of the folder is the one that was signed. All files have to be known;
// not all of them have to be there.
func verifyRelease(folder, keyFile string) (*statement, error) {
	key, err := readPublicKey(keyFile)
	if err != nil {
		return nil, err
	}
	b, err := bundle.LoadJSONFromPath(filepath.Join(folder, bundleFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the release is not signed: it has no %s", bundleFile)
	}
	if err != nil {
		return nil, err
	}
	if err := verifyBundle(b, key, verify.WithoutArtifactUnsafe()); err != nil {
		return nil, fmt.Errorf("the release %w", err)
	}
	envelope := b.GetDsseEnvelope()
	s := &statement{}
	if err := json.Unmarshal(envelope.GetPayload(), s); err != nil {
		return nil, err
	}
	return s, s.check(folder)
}

// readPublicKey reads a public key in PEM.
func readPublicKey(name string) (signature.Verifier, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s has no key in PEM", name)
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s has no public key: %w", name, err)
	}
	return signature.LoadDefaultVerifier(key)
}

// verifyBundle checks that a key signed a bundle, and that it is about an artifact.
func verifyBundle(b *bundle.Bundle, key signature.Verifier, artifact verify.ArtifactPolicyOption) error {
	material := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
		return &root.ExpiringKey{Verifier: key}, nil
	})
	checker, err := verify.NewVerifier(material, verify.WithNoObserverTimestamps())
	if err != nil {
		return err
	}
	if _, err := checker.Verify(b, verify.NewPolicy(artifact, verify.WithKey())); err != nil {
		return fmt.Errorf("was not signed with this key: %w", err)
	}
	return nil
}

// check compares the files of a folder with a statement.
func (s *statement) check(folder string) error {
	files, err := digests(folder)
	if err != nil {
		return err
	}
	var wrong []string
	for _, f := range files {
		i := slices.IndexFunc(s.Subject, func(known subject) bool { return known.Name == f.Name })
		switch {
		case i < 0:
			wrong = append(wrong, f.Name+" is not part of the release")
		case s.Subject[i].Digest["sha256"] != f.Digest["sha256"]:
			wrong = append(wrong, f.Name+" is not what was built")
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}
