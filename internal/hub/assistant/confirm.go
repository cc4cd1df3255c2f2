package assistant

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"time"
)

// confirmFor is how long the code of a question is valid.
const confirmFor = 5 * time.Minute

// Sizes of the parts of a code, in bytes: when it expires, and its signature.
const (
	expiryBytes    = 8
	signatureBytes = 12
)

var codes = base32.StdEncoding.WithPadding(base32.NoPadding)

// codeOf returns a code that confirms what it is about until a time. Only who has the key can make it.
func codeOf(key []byte, until time.Time, about ...string) string {
	expiry := binary.BigEndian.AppendUint64(nil, uint64(until.Unix())) //nolint:gosec // times are after 1970
	text, _ := json.Marshal(about)                                     // texts
	mac := hmac.New(sha256.New, key)
	mac.Write(expiry)
	mac.Write(text)
	return codes.EncodeToString(append(expiry, mac.Sum(nil)[:signatureBytes]...))
}

// confirms reports whether a code is about this, and has not expired.
func confirms(code string, key []byte, now time.Time, about ...string) bool {
	bits, err := codes.DecodeString(code)
	if err != nil || len(bits) != expiryBytes+signatureBytes {
		return false
	}
	until := time.Unix(int64(binary.BigEndian.Uint64(bits)), 0) //nolint:gosec // compared with a signature
	return hmac.Equal([]byte(code), []byte(codeOf(key, until, about...))) && now.Before(until)
}
