package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Signed reports whether a signature, in hexadecimal digits, is the HMAC with SHA-256 of a body under a key.
// It takes the same time whatever is wrong. An empty key signs nothing.
func Signed(signature string, body []byte, key Secret) bool {
	got, err := hex.DecodeString(signature)
	if err != nil || key.IsZero() {
		return false
	}
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	_, _ = mac.Write(body)
	return hmac.Equal(got, mac.Sum(nil))
}
