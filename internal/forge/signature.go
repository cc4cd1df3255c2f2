package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Signed reports whether a hexadecimal signature is the HMAC-SHA256 of a body, in constant time. With an empty key it is false.
func Signed(signature string, body []byte, key Secret) bool {
	got, err := hex.DecodeString(signature)
	if err != nil || key.IsZero() {
		return false
	}
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	_, _ = mac.Write(body)
	return hmac.Equal(got, mac.Sum(nil))
}
