package fleet

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// minRSA is the smallest RSA key that is accepted, in bits.
const minRSA = 2048

// PublicKey parses a public key in PEM, as cosign writes it: ECDSA, Ed25519 or RSA.
func PublicKey(text string) (crypto.PublicKey, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, errors.New("it is not a public key in PEM")
	}
	if more, _ := pem.Decode(rest); more != nil {
		return nil, errors.New("it has several keys; list each on its own")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse the public key: %w", err)
	}
	switch key := key.(type) {
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return key, nil
	case *rsa.PublicKey:
		if key.N.BitLen() < minRSA {
			return nil, fmt.Errorf("an RSA key needs at least %d bits, and this one has %d", minRSA, key.N.BitLen())
		}
		return key, nil
	}
	return nil, fmt.Errorf("keys of the type %T are not supported", key)
}
