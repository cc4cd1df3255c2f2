package github_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/github"
)

const key = "a shared secret"

// delivery returns the headers of a delivery of GitHub.
func delivery(kind, body string) http.Header {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = mac.Write([]byte(body))
	h := http.Header{}
	h.Set("X-GitHub-Event", kind)
	h.Set("X-GitHub-Delivery", "72d3162e")
	h.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return h
}

func TestDeliveries(t *testing.T) {
	forgetest.Delivery{Verifier: new(github.Forge), Sign: func(h http.Header, body []byte, key forge.Secret) {
		h.Set("X-Hub-Signature-256", "sha256="+forgetest.Sign(body, key))
	}}.Deliveries(t)
}

func TestAnotherKindOfSignature(t *testing.T) {
	header := delivery("push", "{}")
	header.Set("X-Hub-Signature-256", header.Get("X-Hub-Signature-256")[len("sha256="):])
	if _, err := new(github.Forge).VerifyWebhook(header, []byte("{}"), forge.NewSecret(key)); !errors.Is(err, forge.ErrDenied) {
		t.Errorf("another kind of signature: %v", err)
	}
}

func FuzzDelivery(f *testing.F) {
	for _, kind := range []string{"push", "pull_request", "status", "issue_comment"} {
		f.Add(kind, `{"pull_request":{"head":null,"base":{"repo":null}},"issue":{"pull_request":null}}`)
	}
	f.Fuzz(func(t *testing.T, kind, body string) {
		if _, err := new(github.Forge).VerifyWebhook(delivery(kind, body), []byte(body), forge.NewSecret(key)); err != nil && !errors.Is(err, forge.ErrInvalid) {
			t.Error(err)
		}
	})
}
