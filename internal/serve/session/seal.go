package session

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// sealer encrypts and authenticates cookies. A text that is sealed for one purpose cannot be opened for another.
type sealer struct {
	aead cipher.AEAD
	// mark distinguishes cookies of this server from those of others on other ports, because browsers do not.
	mark string
}

// newSealer derives the keys from a secret.
func newSealer(key secret.Value) (*sealer, error) {
	bits, err := hkdf.Key(sha256.New, []byte(key.Reveal()), nil, "kalypso session", 32+4)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(bits[:32])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead, hex.EncodeToString(bits[32:])}, err
}

// maxSealed limits sealed texts, in bytes, like browsers do.
const maxSealed = 4096

func (s *sealer) seal(purpose string, v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(purpose))), nil
}

// open decodes a text into v, and reports whether it was sealed for the purpose.
func (s *sealer) open(purpose, text string, v any) bool {
	if text == "" || len(text) > maxSealed {
		return false
	}
	bits, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	plain, err := s.aead.Open(nil, nil, bits, []byte(purpose))
	return err == nil && json.Unmarshal(plain, v) == nil
}

// newID returns 256 random bits.
func newID() []byte {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails
	return bits[:]
}

// derived returns a text that depends on some bits and a purpose, and does not reveal the bits.
func derived(from []byte, purpose string) string {
	mac := hmac.New(sha256.New, from)
	mac.Write([]byte(purpose))
	return hex.EncodeToString(mac.Sum(nil))
}

func same(a, b string) bool { return a != "" && hmac.Equal([]byte(a), []byte(b)) }
