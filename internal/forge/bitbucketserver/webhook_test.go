package bitbucketserver_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucketserver"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

func sign(h http.Header, body []byte, key forge.Secret) {
	h.Set("X-Hub-Signature", "sha256="+forgetest.Sign(body, key))
}

func TestDeliveries(t *testing.T) {
	forgetest.Delivery{Verifier: new(bitbucketserver.Forge), Sign: sign}.Deliveries(t)
}

func FuzzDelivery(f *testing.F) {
	for _, kind := range []string{"repo:refs_changed", "pr:opened", "pr:comment:added"} {
		f.Add(kind, `{"changes":[null,{"ref":null}],"pullRequest":{"fromRef":null},"actor":null,"repository":null}`)
	}
	key := forge.NewSecret("key")
	f.Fuzz(func(t *testing.T, kind, body string) {
		h := http.Header{"X-Event-Key": {kind}}
		sign(h, []byte(body), key)
		if _, err := new(bitbucketserver.Forge).VerifyWebhook(h, []byte(body), key); err != nil && !errors.Is(err, forge.ErrInvalid) {
			t.Error(err)
		}
	})
}
