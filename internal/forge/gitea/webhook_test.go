package gitea_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
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
	const who = `"repository":{"full_name":"acme/gitops"},"sender":{"login":"ann"}`
	pull := `"pull_request":{"number":7,"head":{"label":"kalypso/dev","sha":"c1"},"base":{"label":"dev"}},`
	for _, tc := range []struct {
		kind, body string
		want       forge.Event
	}{
		{"push", `{"ref":"refs/heads/a/b","after":"0c10",` + who + `}`, forge.Event{Kind: forge.EventPush, Branch: "a/b", Commit: "0c10"}},
		{"push", `{"ref":"refs/heads/dev","after":"` + strings.Repeat("0", 40) + `",` + who + `}`, forge.Event{Kind: forge.EventPush, Branch: "dev"}},
		{"push", `{"ref":"refs/tags/v1","after":"c1",` + who + `}`, forge.Event{Kind: forge.EventOther}},
		{"create", `{"ref":"dev","ref_type":"branch","sha":"c1",` + who + `}`, forge.Event{Kind: forge.EventPush, Branch: "dev", Commit: "c1"}},
		{"create", `{"ref":"v1","ref_type":"tag","sha":"c1",` + who + `}`, forge.Event{Kind: forge.EventOther}},
		{"delete", `{"ref":"dev","ref_type":"branch",` + who + `}`, forge.Event{Kind: forge.EventPush, Branch: "dev"}},
		{"pull_request", `{"action":"closed",` + pull + who + `}`, forge.Event{Kind: forge.EventPullRequest, PullRequest: 7, Branch: "dev", Commit: "c1"}},
		{"pull_request_sync", `{"action":"synchronized",` + pull + who + `}`, forge.Event{Kind: forge.EventPullRequest, PullRequest: 7, Branch: "dev", Commit: "c1"}},
		{"pull_request_label", `{"action":"label_updated",` + pull + who + `}`, forge.Event{Kind: forge.EventLabel, PullRequest: 7, Branch: "dev", Commit: "c1"}},
		{"status", `{"sha":"c1","updated_at":"2030-01-02T03:04:05Z",` + who + `}`, forge.Event{
			Kind: forge.EventStatus, Commit: "c1", Time: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
		}},
		{"pull_request_comment", `{"is_pull":true,"issue":{"number":7},` + who + `}`, forge.Event{Kind: forge.EventComment, PullRequest: 7}},
		{"issue_comment", `{"issue":{"number":7},` + who + `}`, forge.Event{Kind: forge.EventComment}},
		{"repository", `{` + who + `}`, forge.Event{Kind: forge.EventOther}},
	} {
		got, err := new(gitea.Forge).VerifyWebhook(delivery(tc.kind, tc.body), []byte(tc.body), forge.NewSecret(key))
		if err != nil {
			t.Errorf("%s %s: %v", tc.kind, tc.body, err)
		}
		tc.want.Repository, tc.want.Sender, tc.want.Delivery = "acme/gitops", "ann", "72d3162e"
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s %s: %s", tc.kind, tc.body, diff)
		}
	}
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
