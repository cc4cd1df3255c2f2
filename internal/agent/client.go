package agent

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Client sends batches to a server.
type Client struct {
	Server    *url.URL // required
	TokenFile string   // required
	UserAgent string
	// Transport is the way to the server; nil means the usual one.
	Transport http.RoundTripper
}

// ParseServer reads the address of a server.
func ParseServer(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("%q is no address of a server: want one like https://kalypso.example.com", secret.Redact(text))
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q has more than an address: the token belongs into a file", secret.Redact(text))
	}
	return u, nil
}

// oneAnswer is how long a batch may take, on a slow line.
const oneAnswer = 60 * time.Second

// Send sends a batch. A server that does not take it is a [Refusal].
func (c *Client) Send(ctx context.Context, batch hub.ReportBatch) (hub.ReportReceipt, error) {
	var receipt hub.ReportReceipt
	ctx, done := context.WithTimeout(ctx, oneAnswer)
	defer done()
	token, err := c.token()
	if err != nil {
		return receipt, err
	}
	request, err := c.request(ctx, batch, token)
	if err != nil {
		return receipt, err
	}
	// A redirect would take the token to somebody else.
	client := http.Client{Transport: c.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return receipt, unreachable(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if response.StatusCode/100 != 2 {
		return receipt, refusal(response, body, token)
	}
	if err != nil {
		return receipt, fmt.Errorf("read the server's answer: %w", err)
	}
	// An answer that is no receipt asks for nothing.
	_ = json.Unmarshal(body, &receipt)
	return receipt, nil
}

// token reads the file anew each time, so that a new token needs no restart.
func (c *Client) token() (secret.Value, error) {
	text, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return secret.Value{}, fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \r\n\t") {
		return secret.Value{}, fmt.Errorf("read the token: %s does not hold one token, and nothing else", c.TokenFile)
	}
	return secret.New(token), nil
}

func (c *Client) request(ctx context.Context, batch hub.ReportBatch, token secret.Value) (*http.Request, error) {
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	if err := errors.Join(json.NewEncoder(z).Encode(batch), z.Close()); err != nil {
		return nil, fmt.Errorf("write a batch: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Server.JoinPath("api", "v1", "reports").String(), &body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token.Reveal())
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Content-Encoding", "gzip")
	request.Header.Set("Idempotency-Key", batch.ID)
	request.Header.Set("User-Agent", c.UserAgent)
	return request, nil
}

// unreachable adds to an error what to do, where something can be done.
func unreachable(err error) error {
	var authority x509.UnknownAuthorityError
	if errors.As(err, &authority) {
		return fmt.Errorf("reach the server: %w; if its certificate is of your own authority, name the authority's file in SSL_CERT_FILE", err)
	}
	return fmt.Errorf("reach the server: %w", err)
}

func refusal(response *http.Response, body []byte, token secret.Value) error {
	r := &Refusal{Status: response.StatusCode}
	var problem struct{ Detail, Title string }
	switch {
	case response.Header.Get("Location") != "":
		r.Said = "it redirects to " + response.Header.Get("Location")
	case json.Unmarshal(body, &problem) == nil && problem.Detail != "":
		r.Said = problem.Detail
	case problem.Title != "":
		r.Said = problem.Title
	}
	r.Said = secret.Scrub(r.Said, token)
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.After = min(time.Duration(min(seconds, 3600))*time.Second, longest)
	}
	return r
}
