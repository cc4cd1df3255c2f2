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
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Root is where the API begins, below the address of the server.
const Root = "/api/v1"

const (
	// MaxAnswer bounds an answer, in bytes. The largest are pages of thousands of reconcilers.
	MaxAnswer = 64 << 20
	// maxComplaint bounds what is read of an answer that says no.
	maxComplaint = 64 << 10
	// oneAnswer is how long one attempt may take.
	oneAnswer = 60 * time.Second
)

// Client asks one server. Its methods may be called concurrently.
type Client struct {
	// Server is its address: scheme, host and perhaps a path. Required.
	Server *url.URL
	// Token says who is asking; none asks as nobody in particular.
	Token secret.Value
	// UserAgent names the program that asks.
	UserAgent string
	// Transport is the way to the server; nil means the usual one.
	Transport http.RoundTripper
	// Waiting hears why the client waits before it tries again, and for how long; may be nil.
	Waiting func(reason error, pause time.Duration)

	// sleep waits; nil means really.
	sleep func(context.Context, time.Duration) error
}

// Get asks for a path below [Root], such as "environments/dev", and decodes the answer into out.
// Elements of the path are escaped with [Path].
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	return c.ask(ctx, call{method: http.MethodGet, path: path, query: query}, out)
}

// Post sends in to a path below [Root], which may have a query, and decodes the answer into out; either may be nil.
func (c *Client) Post(ctx context.Context, path string, in, out any) error {
	q := call{method: http.MethodPost, path: path, contentType: "application/json"}
	if in != nil {
		var err error
		if q.body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("write a request: %w", err)
		}
	}
	return c.ask(ctx, q, out)
}

// PostFile sends a file of a type to a path below [Root] and decodes the answer into out.
func (c *Client) PostFile(ctx context.Context, path, contentType string, file []byte, out any) error {
	return c.ask(ctx, call{method: http.MethodPost, path: path, contentType: contentType, body: file}, out)
}

// Path joins the elements of a path, each of which may hold anything.
func Path(elements ...string) string {
	escaped := make([]string, len(elements))
	for i, e := range elements {
		escaped[i] = url.PathEscape(e)
	}
	return strings.Join(escaped, "/")
}

// call is one thing to ask.
type call struct {
	method, path string
	query        url.Values
	// contentType is that of the body; nil is none.
	contentType string
	body        []byte
}

// reads says whether asking twice is as good as asking once.
func (q *call) reads() bool { return q.method == http.MethodGet }

// ask sends a call until there is an answer that counts.
func (c *Client) ask(ctx context.Context, q call, out any) error {
	return c.retry(ctx, &q, func(ctx context.Context) error {
		ctx, done := context.WithTimeout(ctx, oneAnswer)
		defer done()
		response, err := c.do(ctx, &q, "application/json", "")
		if err != nil {
			return err
		}
		defer response.Body.Close() //nolint:errcheck // it was only read
		return decode(response.Body, out)
	})
}

// do sends a call once. An answer that says no is an error. A stream goes on after its last event.
func (c *Client) do(ctx context.Context, q *call, accept, last string) (*http.Response, error) {
	request, err := c.request(ctx, q, accept)
	if err != nil {
		return nil, err
	}
	// What a stream called an event comes back in a header, where not everything may stand.
	if last != "" && !strings.ContainsFunc(last, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		request.Header.Set("Last-Event-ID", last)
	}
	way := http.Client{Transport: c.Transport, CheckRedirect: sameOrigin}
	response, err := way.Do(request)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxComplaint))
	return nil, refusal(response, body, c.Token)
}

func (c *Client) request(ctx context.Context, q *call, accept string) (*http.Request, error) {
	target := c.Server.JoinPath(Root).String() + "/" + q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	var body io.Reader
	if q.body != nil {
		body = bytes.NewReader(q.body)
	}
	request, err := http.NewRequestWithContext(ctx, q.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", c.UserAgent)
	if q.body != nil {
		request.Header.Set("Content-Type", q.contentType)
	}
	if !c.Token.IsZero() {
		request.Header.Set("Authorization", "Bearer "+c.Token.Reveal())
	}
	return request, nil
}

// sameOrigin follows a few redirects of what only reads, within the server.
// An answer that leads elsewhere counts as the answer: it says where to.
func sameOrigin(next *http.Request, before []*http.Request) error {
	first := before[0]
	if len(before) > 3 || first.Method != http.MethodGet || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// decode reads one JSON value, which has an end.
func decode(body io.Reader, out any) error {
	limited := &io.LimitedReader{R: body, N: MaxAnswer + 1}
	text, err := io.ReadAll(limited)
	switch {
	case err != nil:
		return lost{fmt.Errorf("read the server's answer: %w", err)}
	case limited.N == 0:
		return fmt.Errorf("read the server's answer: it is longer than %d MiB; ask for less at once", MaxAnswer>>20)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return errors.Join(ErrNoAPI, fmt.Errorf("the answer is not what an API of this version says: %w", err))
	}
	return nil
}
