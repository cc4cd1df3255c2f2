package gitlab_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab"
)

// push is the example of a delivery in GitLab's documentation.
const push = `{"object_kind":"push","ref":"refs/heads/main","after":"da1560886d4f094c3e6c9ef40349f7d38b5d27d7",` +
	`"user_username":"jsmith","project":{"path_with_namespace":"mike/diaspora"}}`

func TestDeliveries(t *testing.T) {
	forgetest.Delivery{Verifier: new(gitlab.Forge), Unsigned: true, Sign: func(h http.Header, _ []byte, key forge.Secret) {
		h.Set("X-Gitlab-Token", key.Reveal())
	}}.Deliveries(t)
}

func TestDeliveryWithoutJSON(t *testing.T) {
	for _, body := range []string{"", "[]", `"x"`, `{"object_attributes":7}`} {
		_, err := new(gitlab.Forge).VerifyWebhook(http.Header{"X-Gitlab-Token": {"key"}}, []byte(body), forge.NewSecret("key"))
		if !errors.Is(err, forge.ErrInvalid) {
			t.Errorf("%q: got %v", body, err)
		}
	}
}

// The signature is the output of "openssl dgst -sha256 -hmac" for "id-1.1700000000.{}" and the 32 bytes "0123456789abcdef" twice.
const (
	signingSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	signature     = "v1,F/Su1HuegvE9AXAayirHonzNJfMn+2L9ErTw6MmXAFM="
)

func signedHeader() http.Header {
	return http.Header{"Webhook-Id": {"id-1"}, "Webhook-Timestamp": {"1700000000"}, "Webhook-Signature": {signature}}
}

func TestASignatureCoversIdTimeAndBody(t *testing.T) {
	event, err := new(gitlab.Forge).VerifyWebhook(signedHeader(), []byte(`{}`), forge.NewSecret(signingSecret))
	if want := time.Unix(1_700_000_000, 0); err != nil || event.Delivery != "id-1" || !event.Time.Equal(want) {
		t.Errorf("got %+v, %v", event, err)
	}
	for name, change := range map[string]func(http.Header){
		"id":              func(h http.Header) { h.Set("Webhook-Id", "id-2") },
		"time":            func(h http.Header) { h.Set("Webhook-Timestamp", "1700000001") },
		"signature":       func(h http.Header) { h.Set("Webhook-Signature", "v1,AAAA") },
		"empty signature": func(h http.Header) { h.Set("Webhook-Signature", "") },
		"version":         func(h http.Header) { h.Set("Webhook-Signature", "v2"+signature[2:]) },
		"token beside": func(h http.Header) {
			h.Set("Webhook-Signature", "v1,AAAA")
			h.Set("X-Gitlab-Token", signingSecret)
		},
	} {
		header := signedHeader()
		change(header)
		if _, err := new(gitlab.Forge).VerifyWebhook(header, []byte(`{}`), forge.NewSecret(signingSecret)); !errors.Is(err, forge.ErrDenied) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := new(gitlab.Forge).VerifyWebhook(signedHeader(), []byte(`{} `), forge.NewSecret(signingSecret)); !errors.Is(err, forge.ErrDenied) {
		t.Errorf("body: got %v", err)
	}
	several := signedHeader()
	several.Set("Webhook-Signature", "v1,AAAA "+signature)
	if _, err := new(gitlab.Forge).VerifyWebhook(several, []byte(`{}`), forge.NewSecret(signingSecret)); err != nil {
		t.Errorf("one of several: %v", err)
	}
}

func TestNoSecretVerifiesNothing(t *testing.T) {
	for _, header := range []http.Header{{}, {"X-Gitlab-Token": {""}}, signedHeader()} {
		if _, err := new(gitlab.Forge).VerifyWebhook(header, []byte(`{}`), forge.NewSecret("")); !errors.Is(err, forge.ErrDenied) {
			t.Errorf("%v: got %v", header, err)
		}
	}
}

func FuzzVerifyWebhook(f *testing.F) {
	f.Add("key", "", "", "", []byte(push))
	f.Add("", signature, "id-1", "1700000000", []byte(`{}`))
	f.Add("wrong", "v1,AAAA", "id", "-1", []byte(`{"object_kind":"merge_request","object_attributes":{"iid":1e99}}`))
	f.Fuzz(func(t *testing.T, token, signature, id, at string, body []byte) {
		header := http.Header{"X-Gitlab-Token": {token}, "Webhook-Id": {id}, "Webhook-Timestamp": {at}}
		if signature != "" {
			header.Set("Webhook-Signature", signature)
		}
		event, err := new(gitlab.Forge).VerifyWebhook(header, body, forge.NewSecret("key"))
		switch {
		case err == nil && token != "key":
			t.Errorf("accepted %v", header)
		case err == nil && event.Kind == "":
			t.Error("an event of no kind")
		case err != nil && !errors.Is(err, forge.ErrDenied) && !errors.Is(err, forge.ErrInvalid):
			t.Errorf("got %v", err)
		}
	})
}

// A forge that does not sign sends the secret itself.
func ExampleForge_VerifyWebhook() {
	event, err := new(gitlab.Forge).VerifyWebhook(http.Header{"X-Gitlab-Token": {"a shared secret"}}, []byte(push), forge.NewSecret("a shared secret"))
	fmt.Println(event.Kind, event.Repository, event.Branch, err)
	_, err = new(gitlab.Forge).VerifyWebhook(http.Header{"X-Gitlab-Token": {"a guess"}}, []byte(push), forge.NewSecret("a shared secret"))
	fmt.Println(err)
	// Output:
	// push mike/diaspora main <nil>
	// verify delivery: denied: neither the signature nor the token matches the secret; give the hook the secret of the configuration
}
