package v1alpha1

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
)

// ReportPayloadType is the payload type of signed reports.
const ReportPayloadType = "application/vnd.kalypso.reports+json"

// SignedReports is a signed [ReportBatch], for clusters without a connection: a DSSE envelope as JSON (Dead Simple
// Signing Envelope 1.0, as used by in-toto and sigstore). A report file has one envelope per line.
//
//	{
//	  "payloadType": "application/vnd.kalypso.reports+json",
//	  "payload": "<the batch as JSON, in base64>",
//	  "signatures": [{"keyid": "<SHA-256 of the public key>", "sig": "<ed25519 signature, in base64>"}]
//	}
//
// The signed bytes are "DSSEv1 <length> <payloadType> <length> <payload>", with lengths in bytes as decimal numbers
// and the decoded payload. [KeyID] defines the key ID.
//
// +kubebuilder:object:generate=false
type SignedReports struct {
	PayloadType string            `json:"payloadType"`
	Payload     []byte            `json:"payload"`
	Signatures  []ReportSignature `json:"signatures"`
}

// ReportSignature is one signature of the payload.
//
// +kubebuilder:object:generate=false
type ReportSignature struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// SignReports returns a batch as one line of a report file, signed with the cluster's key.
func SignReports(batch ReportBatch, key ed25519.PrivateKey) ([]byte, error) {
	payload, err := json.Marshal(batch)
	if err != nil {
		return nil, fmt.Errorf("write reports: %w", err)
	}
	return Seal(ReportPayloadType, payload, key)
}

// Seal returns a payload in a DSSE envelope, as JSON on one line, signed with an ed25519 key. [SignedReports] describes the format.
func Seal(payloadType string, payload []byte, key ed25519.PrivateKey) ([]byte, error) {
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("sign: the key is no ed25519 key")
	}
	signed := SignedReports{
		PayloadType: payloadType, Payload: payload,
		Signatures: []ReportSignature{{KeyID: KeyID(public), Sig: ed25519.Sign(key, SignedBytes(payloadType, payload))}},
	}
	text, err := json.Marshal(signed)
	return append(text, '\n'), err
}

// ErrUnknownKey means that an envelope has no valid signature of a known key.
var ErrUnknownKey = errors.New("no signature is of a known key")

// Unseal verifies a DSSE envelope and returns its payload. It must have a valid signature of one of the keys, which is returned, and
// the type. Otherwise the error is [ErrUnknownKey], or says what the text is instead.
func Unseal(text []byte, payloadType string, keys ...ed25519.PublicKey) ([]byte, ed25519.PublicKey, error) {
	var signed SignedReports
	if err := json.Unmarshal(text, &signed); err != nil {
		return nil, nil, fmt.Errorf("read the signature: %w", err)
	}
	if signed.PayloadType != payloadType {
		return nil, nil, fmt.Errorf("it holds %.100q, want %s", signed.PayloadType, payloadType)
	}
	for _, s := range signed.Signatures {
		for _, key := range keys {
			if len(key) == ed25519.PublicKeySize && s.KeyID == KeyID(key) && ed25519.Verify(key, SignedBytes(signed.PayloadType, signed.Payload), s.Sig) {
				return signed.Payload, key, nil
			}
		}
	}
	return nil, nil, ErrUnknownKey
}

// OpenReports verifies one line of a report file and returns its batch. find returns the cluster that a key belongs
// to, and the key. OpenReports rejects batches of other clusters. It does not validate the content; see
// [ReportBatch.Check].
func OpenReports(line []byte, find func(keyID string) (cluster string, key ed25519.PublicKey, ok bool)) (*ReportBatch, error) {
	var signed SignedReports
	if err := json.Unmarshal(line, &signed); err != nil {
		return nil, fmt.Errorf("read signed reports: %w", err)
	}
	if signed.PayloadType != ReportPayloadType {
		return nil, fmt.Errorf("it holds %.100q, want %s", signed.PayloadType, ReportPayloadType)
	}
	for _, s := range signed.Signatures {
		cluster, key, ok := find(s.KeyID)
		if !ok || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, SignedBytes(signed.PayloadType, signed.Payload), s.Sig) {
			continue
		}
		var batch ReportBatch
		if err := json.Unmarshal(signed.Payload, &batch); err != nil {
			return nil, fmt.Errorf("read reports: %w", err)
		}
		if batch.Cluster != cluster {
			return nil, fmt.Errorf("the reports are about cluster %.253q, and signed by %q", batch.Cluster, cluster)
		}
		return &batch, nil
	}
	return nil, errors.New("no signature is of a known key: register the public key of the cluster, or export again")
}

// SignedBytes returns the bytes that DSSE signs. They include the type, so
// that a payload cannot be mistaken for another type.
func SignedBytes(payloadType string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// KeyID returns the ID of a public key: the hexadecimal SHA-256 of its DER form, as printed by "openssl pkey -in
// key.pem -pubout -outform der | sha256sum".
func KeyID(key ed25519.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "" // cannot happen for an ed25519 key
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// ParseReportKey parses a cluster's signing key: PKCS #8 as PEM, as written by "openssl genpkey -algorithm ed25519".
func ParseReportKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New(`it is no private key in PEM form; "openssl genpkey -algorithm ed25519" makes one`)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse the private key: %w", err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf(`it is a %T, want ed25519; "openssl genpkey -algorithm ed25519" makes one`, parsed)
	}
	return key, nil
}

// ParseReportPublicKey parses the key that verifies a cluster's report files: PKIX as PEM, as written by "openssl
// pkey -in key.pem -pubout".
func ParseReportPublicKey(text []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, errors.New(`it is no public key in PEM form; "openssl pkey -in key.pem -pubout" writes one`)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse the public key: %w", err)
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("it is a %T, want ed25519", parsed)
	}
	return key, nil
}
