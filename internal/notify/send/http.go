package send

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/notify/message"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const (
	// timeout limits an attempt.
	timeout = 15 * time.Second
	// maxAnswer limits what is read of an answer, in bytes, maxSaid what an error quotes of it.
	maxAnswer = 4 << 10
	maxSaid   = 200
)

// HTTP sends messages by POST. It is safe for concurrent use.
type HTTP struct {
	// URL is the address of the receiver. It is kept as a secret.
	URL secret.Value // required
	// Body returns the body for an event, and Type is its content type.
	Body func(e message.Event, server string) ([]byte, error) // required
	Type string                                               // required
	// Sign adds headers that prove the origin of a body; optional.
	Sign func(header http.Header, id string, now time.Time, body []byte)
	// Server is the public URL of this server.
	Server string
	// Hosts are private names and addresses that may be connected to, besides the host of the URL.
	Hosts []string
	// Roots verify the certificates of receivers. Default: those of the system.
	Roots *x509.CertPool
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Send sends a message. It returns nil if the receiver has accepted it.
func (h *HTTP) Send(ctx context.Context, e message.Event) error {
	u, err := ParseURL(h.URL)
	if err != nil {
		return err
	}
	body, err := h.Body(e, h.Server)
	if err != nil {
		return err
	}
	ctx, end := context.WithTimeout(ctx, timeout)
	defer end()
	request, err := http.NewRequestWithContext(outbound.With(ctx, h.secrets()...), http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL cannot be used")
	}
	request.Header.Set("User-Agent", "kalypso")
	request.Header.Set("Content-Type", h.Type)
	if h.Sign != nil {
		h.Sign(request.Header, e.ID, h.now(), body)
	}
	client := outbound.New(outbound.Options{Permit: permit(u.Hostname(), h.Hosts), Redirects: outbound.Never, Once: true, Roots: h.Roots})
	answer, err := client.Do(request)
	if err != nil {
		return h.hide(ctx, err)
	}
	defer answer.Body.Close() //nolint:errcheck // nothing was written
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return nil // accepted, whatever happens to the rest of the answer
	}
	if err != nil {
		said = nil
	}
	return h.refused(answer, said)
}

// refused returns the error for an answer that is not a success.
func (h *HTTP) refused(answer *http.Response, said []byte) error {
	text := fmt.Sprintf("%s answers %s", answer.Request.URL.Hostname(), secret.Line(answer.Status))
	if answer.StatusCode >= 300 && answer.StatusCode < 400 {
		text += "; configure the URL that it leads to"
	} else if line := secret.Scrub(string(said[:min(len(said), maxSaid)]), h.secrets()...); line != "" {
		text += ": " + line
	}
	return &message.RefusedError{Text: text, RetryAfter: retryAfter(answer.Header.Get("Retry-After"), h.now())}
}

// retryAfter parses the header, which is a number of seconds or a time.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 1<<20)) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// hide returns an error without the URL.
func (h *HTTP) hide(ctx context.Context, err error) error {
	var of *url.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errors.New("it did not answer in time")
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &of):
		err = of.Err
	}
	return errors.New(secret.Scrub(err.Error(), h.secrets()...))
}

// secrets are the URL and the parts of it that may be credentials.
func (h *HTTP) secrets() []secret.Value {
	all := []secret.Value{h.URL}
	u, err := url.Parse(h.URL.Reveal())
	if err != nil {
		return all
	}
	all = append(all, secret.New(u.RequestURI()), secret.New(u.RawQuery))
	for part := range strings.SplitSeq(u.Path, "/") {
		if len(part) >= 8 {
			all = append(all, secret.New(part))
		}
	}
	return all
}

func (h *HTTP) now() time.Time {
	if h.Now == nil {
		return time.Now()
	}
	return h.Now()
}

// ParseURL returns the URL of a receiver. The error does not quote it.
func ParseURL(v secret.Value) (*url.URL, error) {
	u, err := url.Parse(v.Reveal())
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("want a URL such as https://hooks.example.com/kalypso")
	case u.User != nil:
		return nil, errors.New("the URL has a user or password in it; use a receiver that verifies signatures")
	case u.Scheme == "http" && !secret.IsLoopback(u.Hostname()):
		return nil, errors.New("the messages would be readable on the way; use https")
	}
	return u, nil
}

// permit returns the rule about addresses for a host, which the operator configured.
func permit(host string, hosts []string) func(host, address string) error {
	return (&verify.Runner{Hosts: append(slices.Clone(hosts), host)}).Permit
}

// WebhookKey is a key that signs webhooks.
type WebhookKey struct{ key secret.Value }

// The length of keys: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
const (
	secretPrefix   = "whsec_"
	minKey, maxKey = 24, 64
)

// ParseWebhookKeys parses secrets in the form of Standard Webhooks, "whsec_" and Base64. There may be several, separated by white
// space, while one replaces another.
func ParseWebhookKeys(v secret.Value) ([]WebhookKey, error) {
	var keys []WebhookKey
	for _, text := range strings.Fields(v.Reveal()) {
		encoded, ok := strings.CutPrefix(text, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(key) < minKey || len(key) > maxKey {
			return nil, fmt.Errorf(`want %s and %d to %d bytes in Base64; create it with: echo "%s$(openssl rand -base64 32)"`, secretPrefix, minKey, maxKey, secretPrefix)
		}
		keys = append(keys, WebhookKey{secret.New(string(key))})
	}
	if len(keys) == 0 {
		return nil, errors.New("it is empty")
	}
	return keys, nil
}

// StandardWebhooks signs as https://www.standardwebhooks.com says: over ID, time and body, once with each key.
func StandardWebhooks(keys []WebhookKey) func(http.Header, string, time.Time, []byte) {
	return func(header http.Header, id string, now time.Time, body []byte) {
		at := strconv.FormatInt(now.Unix(), 10)
		var signatures []string
		for _, k := range keys {
			signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(sum(k.key, []byte(id+"."+at+"."), body)))
		}
		header.Set("Webhook-Id", id)
		header.Set("Webhook-Timestamp", at)
		header.Set("Webhook-Signature", strings.Join(signatures, " "))
	}
}

// FluxSignature adds the headers of Flux's notification controller. Without a key, as its provider "generic" does; with one, as
// "generic-hmac": https://fluxcd.io/flux/components/notification/providers/#generic-webhook-with-hmac
func FluxSignature(key secret.Value) func(http.Header, string, time.Time, []byte) {
	return func(header http.Header, _ string, _ time.Time, body []byte) {
		header.Set("Gotk-Component", message.FluxController)
		if !key.IsZero() {
			header.Set("X-Signature", "sha256="+hex.EncodeToString(sum(key, body)))
		}
	}
}

func sum(key secret.Value, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	for _, p := range parts {
		_, _ = mac.Write(p) // never fails
	}
	return mac.Sum(nil)
}
