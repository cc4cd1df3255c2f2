package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// ReadSigned decodes the body of a webhook delivery with a signature as [Signed] describes.
func ReadSigned(signature string, body []byte, key Secret, into any) error {
	return ReadDelivery(body, into, Signed(signature, body, key),
		"the signature does not match the secret", "give the hook the secret of the configuration")
}

// ReadDelivery decodes the body of a webhook delivery. It refuses one that is not authentic, with a detail and a hint.
func ReadDelivery(body []byte, into any, authentic bool, detail, hint string) error {
	if !authentic {
		return &Error{Kind: ErrDenied, Op: "verify delivery", Detail: detail, Hint: hint}
	}
	if err := json.Unmarshal(body, into); err != nil {
		return &Error{
			Kind: ErrInvalid, Op: "read delivery", Detail: "it is not the JSON that was expected",
			Hint: "set the content type of the hook to application/json",
		}
	}
	return nil
}
