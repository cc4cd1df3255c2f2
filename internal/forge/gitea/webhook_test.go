package gitea_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitea"
)

const key = "a shared secret"

// delivery returns the headers of a delivery of Gitea.
func delivery(kind, body string) http.Header {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = mac.Write([]byte(body))
	h := http.Header{}
	h.Set("X-Gitea-Event-Type", kind)
	h.Set("X-Gitea-Delivery", "72d3162e")
	h.Set("X-Gitea-Signature", hex.EncodeToString(mac.Sum(nil)))
	return h
}

func TestDeliveries(t *testing.T) {
	forgetest.Delivery{Verifier: new(gitea.Forge), Sign: func(h http.Header, body []byte, key forge.Secret) {
		h.Set("X-Gitea-Signature", forgetest.Sign(body, key))
	}}.Deliveries(t)
}

func FuzzDelivery(f *testing.F) {
	for _, kind := range []string{"push", "create", "pull_request", "status", "issue_comment"} {
		f.Add(kind, `{"pull_request":{"head":{"repo":null},"base":{"repo":null}},"is_pull":true,"issue":null}`)
	}
	f.Fuzz(func(t *testing.T, kind, body string) {
		if _, err := new(gitea.Forge).VerifyWebhook(delivery(kind, body), []byte(body), forge.NewSecret(key)); err != nil && !errors.Is(err, forge.ErrInvalid) {
			t.Error(err)
		}
	})
}
