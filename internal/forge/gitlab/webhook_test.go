package gitlab_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab"
)

// push is the example of a delivery in GitLab's documentation.
const push = `{"object_kind":"push","ref":"refs/heads/main","after":"da1560886d4f094c3e6c9ef40349f7d38b5d27d7",` +
	`"user_username":"jsmith","project":{"path_with_namespace":"mike/diaspora"}}`

func TestDeliveriesAreUnderstood(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		want forge.Event
	}{
		"push": {push, forge.Event{
			Kind: forge.EventPush, Branch: "main", Commit: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", Sender: "jsmith",
		}},
		"deleted branch": {
			`{"object_kind":"push","ref":"refs/heads/a/b","after":"0000000000000000000000000000000000000000",` +
				`"user_username":"jsmith","project":{"path_with_namespace":"mike/diaspora"}}`,
			forge.Event{Kind: forge.EventPush, Branch: "a/b", Sender: "jsmith"},
		},
		"tag": {
			`{"object_kind":"tag_push","ref":"refs/tags/v1","after":"1","user_username":"jsmith",` +
				`"project":{"path_with_namespace":"mike/diaspora"}}`,
			forge.Event{Kind: forge.EventOther, Sender: "jsmith"},
		},
		"merge request": {
			`{"object_kind":"merge_request","user":{"username":"root"},"project":{"path_with_namespace":"mike/diaspora"},` +
				`"object_attributes":{"iid":5,"target_branch":"main","last_commit":{"id":"c0"},"action":"open"},"changes":{"labels":{}}}`,
			forge.Event{Kind: forge.EventPullRequest, Branch: "main", Commit: "c0", PullRequest: 5, Sender: "root"},
		},
		"label": {
			`{"object_kind":"merge_request","user":{"username":"root"},"project":{"path_with_namespace":"mike/diaspora"},` +
				`"object_attributes":{"iid":5,"target_branch":"main","last_commit":{"id":"c0"},"action":"update"},"changes":{"labels":{}}}`,
			forge.Event{Kind: forge.EventLabel, Branch: "main", Commit: "c0", PullRequest: 5, Sender: "root"},
		},
		"push into a merge request": {
			`{"object_kind":"merge_request","user":{"username":"root"},"project":{"path_with_namespace":"mike/diaspora"},"changes":{"labels":{}},` +
				`"object_attributes":{"iid":5,"target_branch":"main","last_commit":{"id":"c1"},"action":"update","oldrev":"c0"}}`,
			forge.Event{Kind: forge.EventPullRequest, Branch: "main", Commit: "c1", PullRequest: 5, Sender: "root"},
		},
		"comment on a merge request": {
			`{"object_kind":"note","user":{"username":"root"},"project":{"path_with_namespace":"mike/diaspora"},` +
				`"object_attributes":{"id":1243},"merge_request":{"iid":7}}`,
			forge.Event{Kind: forge.EventComment, PullRequest: 7, Sender: "root"},
		},
		"comment on an issue": {
			`{"object_kind":"note","user":{"username":"root"},"project":{"path_with_namespace":"mike/diaspora"},"issue":{"iid":7}}`,
			forge.Event{Kind: forge.EventComment, Sender: "root"},
		},
		"pipeline": {
			`{"object_kind":"pipeline","user":{"username":"root"},"project":{"path_with_namespace":"mike/diaspora"},` +
				`"object_attributes":{"id":31,"sha":"c1"}}`,
			forge.Event{Kind: forge.EventStatus, Commit: "c1", Sender: "root"},
		},
		"something else": {`{"object_kind":"wiki_page","project":{"path_with_namespace":"mike/diaspora"}}`, forge.Event{Kind: forge.EventOther}},
	} {
		tc.want.Repository, tc.want.Delivery = "mike/diaspora", "id-1"
		header := http.Header{"X-Gitlab-Token": {"key"}, "Idempotency-Key": {"id-1"}}
		got, err := new(gitlab.Forge).VerifyWebhook(header, []byte(tc.body), forge.NewSecret("key"))
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
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
