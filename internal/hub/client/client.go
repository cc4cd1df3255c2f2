package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// root is the path of the API below the server's address.
const root = "/api/v1"

const (
	// maxAnswer bounds an answer, in bytes. The largest are pages of thousands of reconcilers.
	maxAnswer = 64 << 20
	// maxRefusal bounds an error answer, in bytes.
	maxRefusal = 64 << 10
	// attemptTimeout bounds one attempt.
	attemptTimeout = 60 * time.Second
)

// Client calls one server. Its methods may be called concurrently.
type Client struct {
	// Server is the address: scheme, host and optionally a path. Required.
	Server *url.URL
	// Token authenticates the client; without one, requests are anonymous.
	Token secret.Value
	// TokenFile replaces Token. It is read before each attempt, so that a new token takes effect without a restart.
	TokenFile string
	// UserAgent names the program.
	UserAgent string
	// Transport sends the requests. Default: one of package outbound.
	Transport http.RoundTripper
	// Waiting is called before the client pauses and tries again; optional.
	Waiting func(reason error, pause time.Duration)

	// sleep replaces waiting in tests.
	sleep func(context.Context, time.Duration) error
}

// PostFile sends a file of the given content type to a path below the API's root and decodes the answer into out.
func (c *Client) PostFile(ctx context.Context, path, contentType string, file []byte, out any) error {
	return c.send(ctx, call{method: http.MethodPost, path: path, contentType: contentType, body: file}, out)
}

// call is one request to the API.
type call struct {
	method, path string
	query        url.Values
	// contentType is the type of the body, if there is one.
	contentType string
	body        []byte
	header      map[string]string // additional headers
}

// safe reports whether the call can be repeated without effect.
func (q *call) safe() bool { return q.method == http.MethodGet }

// send sends a call, with retries, and decodes the answer.
func (c *Client) send(ctx context.Context, q call, out any) error {
	return c.retry(ctx, &q, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		response, err := c.do(ctx, &q)
		if err != nil {
			return err
		}
		defer response.Body.Close() //nolint:errcheck // it was only read
		return decode(response.Body, out)
	})
}

// do makes one attempt. It returns an error for every status but 2xx.
func (c *Client) do(ctx context.Context, q *call) (*http.Response, error) {
	return c.exchange(ctx, q, 0)
}

// exchange makes one attempt. It returns an error for every status but 2xx, and one more that is expected.
func (c *Client) exchange(ctx context.Context, q *call, expected int) (*http.Response, error) {
	token := c.Token
	if c.TokenFile != "" {
		var err error
		if token, err = ReadToken(c.TokenFile); err != nil {
			return nil, err
		}
	}
	request, err := c.request(ctx, q, token)
	if err != nil {
		return nil, err
	}
	response, err := c.roundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 == 2 || response.StatusCode == expected {
		return response, nil
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	return nil, newRefusal(response, body, token)
}

// usual is the transport of clients without one. The user of the program names the server, which can be at any address.
var usual = sync.OnceValue(func() http.RoundTripper { return outbound.Transport(outbound.Options{LinkLocal: true}) })

func (c *Client) transport() http.RoundTripper {
	if c.Transport != nil {
		return c.Transport
	}
	return usual()
}

// roundTrip sends a request, and follows redirects within the server.
func (c *Client) roundTrip(request *http.Request) (*http.Response, error) {
	response, err := outbound.Over(c.transport(), sameOrigin).Do(request)
	if err != nil {
		return nil, unreachable(request.Context(), err)
	}
	return response, nil
}

func (c *Client) request(ctx context.Context, q *call, token secret.Value) (*http.Request, error) {
	target := c.Server.JoinPath(root).String() + "/" + q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	var body io.Reader
	if q.body != nil {
		body = bytes.NewReader(q.body)
	}
	request, err := http.NewRequestWithContext(ctx, q.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.UserAgent)
	if q.body != nil {
		request.Header.Set("Content-Type", q.contentType)
	}
	if !token.IsZero() {
		request.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	for name, value := range q.header {
		request.Header.Set(name, value)
	}
	return request, nil
}

// sameOrigin follows up to three redirects of a GET within the server. Any other redirect is returned as the answer.
func sameOrigin(next *http.Request, before []*http.Request) error {
	first := before[0]
	if len(before) > 3 || first.Method != http.MethodGet || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// decode reads one JSON value of bounded size.
func decode(body io.Reader, out any) error {
	limited := &io.LimitedReader{R: body, N: maxAnswer + 1}
	text, err := io.ReadAll(limited)
	switch {
	case err != nil:
		return connectionError{fmt.Errorf("read the server's answer: %w", err)}
	case limited.N == 0:
		return fmt.Errorf("read the server's answer: it is longer than %d MiB; request less at once", maxAnswer>>20)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return errors.Join(ErrNoAPI, fmt.Errorf("decode the server's answer: %w", err))
	}
	return nil
}
