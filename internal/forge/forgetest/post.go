package forgetest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Sign returns the HMAC-SHA256 of a body in hexadecimal digits.
func Sign(body []byte, key forge.Secret) string {
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	_, _ = mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Post delivers a body to a hook. sign adds the headers that authenticate the request and its body.
// Like all forges, it ignores errors of the receiver.
func Post(url string, body any, sign func(r *http.Request, body []byte)) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return
	}
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(encoded))
	if err != nil {
		return
	}
	request.Header.Set("Content-Type", "application/json")
	sign(request, encoded)
	if answer, err := http.DefaultClient.Do(request); err == nil {
		_ = answer.Body.Close()
	}
}
