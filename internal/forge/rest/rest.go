// Package rest sends JSON requests to the API of a forge, reads all pages of a list,
// and turns error responses into [*forge.Error]. Adapters embed [Repository].
package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Client sends requests to one API.
type Client struct {
	// Base is the URL of the API without a slash at its end, such as "https://host/api/v1".
	Base string // required
	// HTTP sends the requests; its transport adds the credential.
	HTTP *http.Client // required
	// Secrets are removed from errors, even if the forge quotes them.
	Secrets []forge.Secret
	// Query is added to requests without parameters of these names; optional.
	Query url.Values
	// Explain refines an error response, of which it gets the header; optional.
	Explain func(r Request, header http.Header, e *forge.Error)
}

// Request is a request to an API.
type Request struct {
	// Op names the operation, from a small set; Where is the repository or URL.
	Op, Where string // required
	// Right is the permission that the token needs; optional.
	Right string
	// Method defaults to GET.
	Method string
	// Path begins with a slash, with escaped segments; see [Path].
	Path  string // required
	Query url.Values
	// In is sent as JSON, and the response is decoded into Out; both are optional.
	In, Out any
	// Header receives the header of the response; optional.
	Header *http.Header
	// ContentType defaults to application/json.
	ContentType string
	// Repeatable marks a POST as idempotent.
	Repeatable bool
	// Reads marks a POST as a read.
	Reads bool
	// Conditional is [transport.Operation.Conditional].
	Conditional bool
	// MissingOK means that [forge.ErrNotFound] is not an error. Out stays unchanged then.
	MissingOK bool
	// Element names the list in a response that is an object, for [Pages].
	Element string
	// Next sets the query of the next page for [Pages], given the header and number of elements of a page. It returns false
	// after the last page. It defaults to following Link headers.
	Next func(h http.Header, query url.Values, elements int) bool
	// Follow is Next for responses that are objects, given the fields of a page; optional, with Element.
	Follow func(page map[string]json.RawMessage, query url.Values) bool
	// Conflict is a part of the message that makes an invalid request a conflict; optional.
	Conflict string
}

// Path escapes and joins segments of a path, texts or numbers. A branch "a/b" is one segment.
func Path(parts ...any) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(fmt.Sprint(p)))
	}
	return b.String()
}

// Do sends a request and decodes the response.
func (c *Client) Do(ctx context.Context, r Request) error {
	r.Query = c.query(r)
	header, err := c.do(ctx, r)
	if r.Header != nil && header != nil {
		*r.Header = header
	}
	return err
}

// query returns the whole query of a request.
func (c *Client) query(r Request) url.Values {
	query := url.Values{}
	maps.Copy(query, c.Query)
	maps.Copy(query, r.Query)
	return query
}

func (c *Client) do(ctx context.Context, r Request) (http.Header, error) {
	ctx = transport.WithOperation(ctx, transport.Operation{Name: r.Op, Repeatable: r.Repeatable, Reads: r.Reads, Conditional: r.Conditional})
	target := c.Base + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
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
		return answer.Header, c.refused(r, answer, Message(body))
	}
	return answer.Header, r.read(answer.Header, body)
}

// refused returns the error of an error response.
func (c *Client) refused(r Request, answer *http.Response, message string) error {
	e := Failure{Op: r.Op, Where: r.Where, Right: r.Right, Status: answer.StatusCode, Message: message, Secrets: c.Secrets}.Error()
	if r.Conflict != "" && errors.Is(e.Kind, forge.ErrInvalid) && strings.Contains(e.Detail, r.Conflict) {
		e.Kind = forge.ErrConflict
	}
	if c.Explain != nil {
		c.Explain(r, answer.Header, e)
	}
	if r.MissingOK && errors.Is(e.Kind, forge.ErrNotFound) {
		return nil
	}
	return e
}

func (r Request) build(ctx context.Context, target string) (*http.Request, error) {
	var body io.Reader
	if r.In != nil {
		encoded, err := json.Marshal(r.In)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodGet), target, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if r.In != nil {
		request.Header.Set("Content-Type", cmp.Or(r.ContentType, "application/json"))
	}
	return request, nil
}

// read decodes a response. It refuses other types than JSON: the page of a proxy must not look like an empty list.
func (r Request) read(header http.Header, body []byte) error {
	if r.Out == nil {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(header.Get("Content-Type")); err == nil && !strings.HasSuffix(kind, "json") {
		return r.fail(forge.ErrUnavailable, "the answer is "+kind+" instead of JSON; something else answers in the forge's place")
	}
	if err := json.Unmarshal(body, r.Out); err != nil {
		return r.unexpected()
	}
	return nil
}

func (r Request) unexpected() error {
	return r.fail(forge.ErrUnavailable, "the answer is not the JSON that was expected")
}

func (r Request) fail(kind error, detail string) *forge.Error {
	return &forge.Error{Kind: kind, Op: r.Op, Where: r.Where, Detail: detail}
}

// explain unwraps the error of the transport, because net/http adds the whole URL.
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
