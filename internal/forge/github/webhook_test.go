package github_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
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
	const who = `"repository":{"full_name":"acme/gitops"},"sender":{"login":"ann"}`
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	pull := `"pull_request":{"number":7,"updated_at":"2030-01-02T03:04:05Z","head":{"ref":"kalypso/dev","sha":"c1"},"base":{"ref":"dev"}},`
	for _, tc := range []struct {
		kind, body string
		want       forge.Event
	}{
		{"push", `{"ref":"refs/heads/a/b","after":"0c10",` + who + `}`, forge.Event{Kind: forge.EventPush, Branch: "a/b", Commit: "0c10"}},
		{"push", `{"ref":"refs/heads/dev","after":"0000","deleted":true,` + who + `}`, forge.Event{Kind: forge.EventPush, Branch: "dev"}},
		{"push", `{"ref":"refs/tags/v1","after":"c1",` + who + `}`, forge.Event{Kind: forge.EventOther}},
		{"pull_request", `{"action":"closed",` + pull + who + `}`, forge.Event{Kind: forge.EventPullRequest, PullRequest: 7, Branch: "dev", Commit: "c1", Time: at}},
		{"pull_request", `{"action":"labeled",` + pull + who + `}`, forge.Event{Kind: forge.EventLabel, PullRequest: 7, Branch: "dev", Commit: "c1", Time: at}},
		{"pull_request", `{"action":"closed",` + who + `}`, forge.Event{Kind: forge.EventOther}},
		{"check_suite", `{"action":"completed","check_suite":{"head_sha":"c1","updated_at":"2030-01-02T03:04:05Z"},` + who + `}`, forge.Event{Kind: forge.EventStatus, Commit: "c1", Time: at}},
		{"pull_request_review", `{"action":"submitted",` + pull + who + `}`, forge.Event{Kind: forge.EventPullRequest, PullRequest: 7, Branch: "dev", Commit: "c1", Time: at}},
		{"status", `{"sha":"c1","updated_at":"2030-01-02T03:04:05Z",` + who + `}`, forge.Event{Kind: forge.EventStatus, Commit: "c1", Time: at}},
		{"issue_comment", `{"issue":{"number":7,"pull_request":{}},"comment":{"updated_at":"2030-01-02T03:04:05Z"},` + who + `}`, forge.Event{Kind: forge.EventComment, PullRequest: 7, Time: at}},
		{"issue_comment", `{"issue":{"number":7},` + who + `}`, forge.Event{Kind: forge.EventComment}},
		{"ping", `{"zen":"x",` + who + `}`, forge.Event{Kind: forge.EventPing}},
		{"star", `{` + who + `}`, forge.Event{Kind: forge.EventOther}},
	} {
		got, err := new(github.Forge).VerifyWebhook(delivery(tc.kind, tc.body), []byte(tc.body), forge.NewSecret(key))
		if err != nil {
			t.Errorf("%s %s: %v", tc.kind, tc.body, err)
		}
		tc.want.Repository, tc.want.Sender, tc.want.Delivery = "acme/gitops", "ann", "72d3162e"
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s %s: %s", tc.kind, tc.body, diff)
		}
	}
}

func TestStrangeDeliveries(t *testing.T) {
	if _, err := new(github.Forge).VerifyWebhook(delivery("push", "payload=%7B"), []byte("payload=%7B"), forge.NewSecret(key)); !errors.Is(err, forge.ErrInvalid) {
		t.Errorf("a form: %v", err)
	}
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
