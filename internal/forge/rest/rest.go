// Package rest speaks JSON with a forge's API: one request at a time, or all pages of a list,
// and turns every answer that says no into a [*forge.Error]. Adapters whose API has no client worth using share it.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Client speaks with one API.
type Client struct {
	// Base is the URL that paths are below, without a slash at its end: "https://host/api/v1".
	Base string // required
	// HTTP sends the requests; its transport adds the credential.
	HTTP *http.Client // required
	// Secrets are kept out of errors, even when the forge quotes them.
	Secrets []forge.Secret
}

// Request is one call.
type Request struct {
	// Op says what is attempted, in plain verb form from a small set, Where at what.
	Op, Where string // required
	// Right is what the token needs for it.
	Right string
	// Method is GET when it is empty.
	Method string
	// Path begins with a slash; its parts are escaped already, see [Path].
	Path  string // required
	Query url.Values
	// In is sent as JSON unless it is nil; the answer is read into Out unless that is nil.
	In, Out any
	// ContentType is application/json when it is empty.
	ContentType string
	// Repeatable allows to repeat a POST whose answer was lost.
	Repeatable bool
}

// Path joins the parts of a path, each escaped: a branch "a/b" is one part.
func Path(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String()
}

// Do sends a request and reads the answer. The header is that of the answer, also when there is an error of the forge.
func (c *Client) Do(ctx context.Context, r Request) (http.Header, error) {
	target := c.Base + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	return c.do(ctx, r, target)
}

func (c *Client) do(ctx context.Context, r Request, target string) (http.Header, error) {
	ctx = transport.WithOperation(ctx, transport.Operation{Name: r.Op, Repeatable: r.Repeatable})
	request, err := r.build(ctx, target)
	if err != nil {
		return nil, r.fail(forge.ErrInvalid, "the request cannot be written")
	}
	answer, err := c.HTTP.Do(request)
	if err != nil {
		return nil, c.explain(r, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return answer.Header, r.fail(forge.ErrUnavailable, "the answer ends early")
	}
	if answer.StatusCode >= 300 {
		return answer.Header, Failure{
			Op: r.Op, Where: r.Where, Right: r.Right, Status: answer.StatusCode, Message: Message(body), Secrets: c.Secrets,
		}.Error()
	}
	return answer.Header, r.read(answer.Header, body)
}

func (r Request) build(ctx context.Context, target string) (*http.Request, error) {
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	var body io.Reader
	if r.In != nil {
		encoded, err := json.Marshal(r.In)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if r.In != nil {
		contentType := r.ContentType
		if contentType == "" {
			contentType = "application/json"
		}
		request.Header.Set("Content-Type", contentType)
	}
	return request, nil
}

// read decodes an answer. A proxy or a sign-in page may answer in the forge's place, which must not look like an empty list.
func (r Request) read(header http.Header, body []byte) error {
	if r.Out == nil {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(header.Get("Content-Type")); err == nil && !strings.HasSuffix(kind, "json") {
		return r.fail(forge.ErrUnavailable, "the answer is "+kind+" instead of JSON; something else answers in the forge's place")
	}
	if err := json.Unmarshal(body, r.Out); err != nil {
		return r.fail(forge.ErrUnavailable, "the answer is not the JSON that was expected")
	}
	return nil
}

func (r Request) fail(kind error, detail string) *forge.Error {
	return &forge.Error{Kind: kind, Op: r.Op, Where: r.Where, Detail: detail}
}

// explain strips what net/http wraps around the transport's error, which has the whole URL in it.
func (c *Client) explain(r Request, err error) error {
	var known *forge.Error
	if errors.As(err, &known) {
		located := *known
		located.Op, located.Where = r.Op, r.Where
		return &located
	}
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return &forge.Error{Kind: forge.ErrUnavailable, Op: r.Op, Where: r.Where, Detail: end.Error(), Cause: end}
		}
	}
	return Failure{Op: r.Op, Where: r.Where, Message: err.Error(), Secrets: c.Secrets}.Error()
}
