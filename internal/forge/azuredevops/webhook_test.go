package azuredevops_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/azuredevops"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// push is the documented example of a delivery.
const push = `{"id":"03c164c2","eventType":"git.push","publisherId":"tfs","createdDate":"2014-05-02T19:17:13.3309587Z","resource":{` +
	`"refUpdates":[{"name":"refs/tags/v1","newObjectId":"t"},{"name":"refs/heads/master","newObjectId":"33b55f7cb7e7e245323987634f960cf4a6e6bc74"}],` +
	`"repository":{"name":"Fabrikam-Fiber-Git","remoteUrl":"https://fabrikam.visualstudio.com/DefaultCollection/_git/Fabrikam-Fiber-Git"},` +
	`"pushedBy":{"id":"00067FFED5C7AF52@Live.com","displayName":"Jamal Hartnett","uniqueName":"fabrikamfiber4@hotmail.com"}}}`

const pull = `"pullRequestId":1,"targetRefName":"refs/heads/main","lastMergeSourceCommit":{"commitId":"c0"},` +
	`"createdBy":{"uniqueName":"jamal@example.com"},"repository":{"remoteUrl":"https://dev.azure.com/org/My Project/_git/repo"}`

func services(t testing.TB) *azuredevops.Forge {
	t.Helper()
	f, err := azuredevops.New(azuredevops.Options{URL: "https://dev.azure.com"})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func verify(f *azuredevops.Forge, body, user, password string, key forge.Secret) (forge.Event, error) {
	r := &http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return f.VerifyWebhook(r.Header, []byte(body), key)
}

func TestDeliveries(t *testing.T) {
	forgetest.Delivery{Verifier: services(t), Unsigned: true, Sign: func(h http.Header, _ []byte, key forge.Secret) {
		r := &http.Request{Header: h}
		r.SetBasicAuth("kalypso", key.Reveal())
	}}.Deliveries(t)
}

func TestDeliveriesOfOthersAreDenied(t *testing.T) {
	for _, tc := range []struct {
		user, password string
		key            forge.Secret
	}{{"kalypso", "other", forge.NewSecret("key")}, {"other", "key", forge.NewSecret("key")}, {"kalypso", "", forge.NewSecret("")}, {"kalypso", "", forge.NewSecret("key")}} {
		if _, err := verify(services(t), push, tc.user, tc.password, tc.key); !errors.Is(err, forge.ErrDenied) {
			t.Errorf("%+v: got %v", tc, err)
		}
	}
	if _, err := verify(services(t), `[`, "kalypso", "key", forge.NewSecret("key")); !errors.Is(err, forge.ErrInvalid) {
		t.Errorf("no JSON: got %v", err)
	}
}

func TestEventsAreDelivered(t *testing.T) {
	w := newWorld(t)
	events := make(chan forge.Event, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		e, err := w.Forge.(forge.WebhookVerifier).VerifyWebhook(r.Header, body, forge.NewSecret("a shared secret"))
		if err != nil {
			t.Error(err)
		}
		events <- e
	}))
	defer receiver.Close()
	for _, secret := range []forge.Secret{forge.NewSecret("an old one"), forge.NewSecret("a shared secret")} {
		w.must(w.repo.EnsureHook(t.Context(), forge.Hook{URL: receiver.URL, Secret: secret}))
	}
	if n := w.Subscriptions(); n != 5 {
		t.Errorf("%d subscriptions, want one for each kind of event", n)
	}
	c := w.open("watched")
	_, err := w.repo.UpsertComment(t.Context(), c.Number, "m", "text")
	w.must(err)
	_, err = w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
	w.must(err)
	path := w.repo.ID().Path
	for _, want := range []forge.Event{
		{Kind: forge.EventPush, Repository: path, Branch: "watched", Commit: c.Head.Commit},
		{Kind: forge.EventPullRequest, Repository: path, Branch: "main", Commit: c.Head.Commit, PullRequest: c.Number},
		{Kind: forge.EventComment, Repository: path, Branch: "main", Commit: c.Head.Commit, PullRequest: c.Number},
		{Kind: forge.EventPullRequest, Repository: path, Branch: "main", Commit: c.Head.Commit, PullRequest: c.Number},
	} {
		got := <-events
		if got.Delivery == "" || got.Time.IsZero() || got.Sender == "" {
			t.Errorf("incomplete: %+v", got)
		}
		got.Delivery, got.Time, got.Sender = "", time.Time{}, ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func FuzzVerifyWebhook(f *testing.F) {
	f.Add("kalypso", "key", []byte(push))
	f.Add("kalypso", "wrong", []byte(`{"eventType":"git.pullrequest.created","resource":{`+pull+`}}`))
	f.Add("kalypso", "key", []byte(`{"eventType":"git.push","resource":{"refUpdates":[null],"repository":{"remoteUrl":"::"}}}`))
	dev := services(f)
	f.Fuzz(func(t *testing.T, user, password string, body []byte) {
		event, err := verify(dev, string(body), user, password, forge.NewSecret("key"))
		switch {
		case err == nil && (password != "key" || user != "kalypso"):
			t.Errorf("accepted %q", password)
		case err == nil && event.Kind == "":
			t.Error("an event of no kind")
		case err != nil && !errors.Is(err, forge.ErrDenied) && !errors.Is(err, forge.ErrInvalid):
			t.Errorf("got %v", err)
		}
	})
}
