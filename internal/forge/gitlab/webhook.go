package gitlab

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// payload holds the fields that all deliveries share.
type payload struct {
	Kind    string `json:"object_kind"`
	Ref     string `json:"ref"`
	After   string `json:"after"`
	Pusher  string `json:"user_username"`
	User    *user  `json:"user"`
	Project struct {
		Path string `json:"path_with_namespace"`
	} `json:"project"`
	Attributes   attributes      `json:"object_attributes"`
	MergeRequest *mergeAttribute `json:"merge_request"`
	Changes      struct {
		Labels *json.RawMessage `json:"labels"`
	} `json:"changes"`
}

// attributes describe the merge request or pipeline of a delivery.
type attributes struct {
	mergeAttribute
	SHA    string `json:"sha"`
	Action string `json:"action"`
	OldRev string `json:"oldrev"` // the head before a push
}

// mergeAttribute is a merge request as deliveries describe it.
type mergeAttribute struct {
	Number     int    `json:"iid"`
	Base       string `json:"target_branch"`
	LastCommit struct {
		ID string `json:"id"`
	} `json:"last_commit"`
}

// VerifyWebhook checks that a delivery comes from a hook with our secret, and returns its event.
//
// If a delivery has a signature, it must be valid. It covers the delivery's ID, time and body, as the Standard Webhooks
// specification defines. Without a signature, the delivery must carry the secret as its token, which covers nothing:
// anyone who has seen one such delivery can forge others.
func (*Forge) VerifyWebhook(header http.Header, body []byte, key forge.Secret) (forge.Event, error) {
	var p payload
	err := forge.ReadDelivery(body, &p, authentic(header, body, key),
		"neither the signature nor the token matches the secret", "give the hook the secret of the configuration")
	if err != nil {
		return forge.Event{}, err
	}
	e := forge.Event{
		Kind: forge.EventOther, Repository: p.Project.Path, Sender: p.sender(), Delivery: deliveryOf(header), Time: timeOf(header),
	}
	p.locate(&e)
	return e, nil
}

func authentic(header http.Header, body []byte, key forge.Secret) bool {
	switch signatures := header.Values("Webhook-Signature"); {
	case key.IsZero():
		return false
	case len(signatures) > 0:
		return signed(header, strings.Fields(strings.Join(signatures, " ")), body, key)
	}
	return subtle.ConstantTimeCompare([]byte(header.Get("X-Gitlab-Token")), []byte(key.Reveal())) == 1
}

// signed reports whether one of several signatures is valid. There are several while a secret is being replaced.
func signed(header http.Header, signatures []string, body []byte, key forge.Secret) bool {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signingToken(key).Reveal(), signingPrefix))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, raw)
	_, _ = mac.Write([]byte(header.Get("Webhook-Id") + "." + header.Get("Webhook-Timestamp") + "."))
	_, _ = mac.Write(body)
	want := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	right := 0
	for _, signature := range signatures {
		right |= subtle.ConstantTimeCompare([]byte(signature), want)
	}
	return right == 1
}

const signingPrefix = "whsec_"

// signingToken returns the signing key in GitLab's format, 32 bytes. A secret in that format is used unchanged.
func signingToken(key forge.Secret) forge.Secret {
	if strings.HasPrefix(key.Reveal(), signingPrefix) {
		return key
	}
	sum := sha256.Sum256([]byte("signing token\x00" + key.Reveal()))
	return forge.NewSecret(signingPrefix + base64.StdEncoding.EncodeToString(sum[:]))
}

// deliveryOf returns the ID of a delivery, which stays the same when it is repeated.
func deliveryOf(header http.Header) string {
	for _, name := range []string{"Webhook-Id", "Idempotency-Key", "X-Gitlab-Event-Uuid"} {
		if id := header.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// timeOf returns when a delivery was signed.
func timeOf(header http.Header) time.Time {
	seconds, err := strconv.ParseInt(header.Get("Webhook-Timestamp"), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

func (p payload) sender() string {
	if p.User != nil {
		return p.User.Username
	}
	return p.Pusher
}

// locate fills in the event's kind and location.
func (p payload) locate(e *forge.Event) {
	switch p.Kind {
	case "push":
		branch, isBranch := strings.CutPrefix(p.Ref, "refs/heads/")
		if !isBranch {
			return
		}
		e.Kind, e.Branch = forge.EventPush, branch
		if strings.Trim(p.After, "0") != "" {
			e.Commit = p.After
		}
	case "merge_request":
		e.Kind, e.PullRequest, e.Branch, e.Commit = forge.EventPullRequest, p.Attributes.Number, p.Attributes.Base, p.Attributes.LastCommit.ID
		// A push to a merge request can report its labels as changed even if they were not.
		if p.Attributes.Action == "update" && p.Attributes.OldRev == "" && p.Changes.Labels != nil {
			e.Kind = forge.EventLabel
		}
	case "note":
		e.Kind = forge.EventComment
		if p.MergeRequest != nil {
			e.PullRequest = p.MergeRequest.Number
		}
	case "pipeline":
		e.Kind, e.Commit = forge.EventStatus, p.Attributes.SHA
	}
}
