package resourcegraph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// The addresses of the public cloud.
const (
	DefaultLogin    = "https://login.microsoftonline.com"
	DefaultEndpoint = "https://management.azure.com"
)

const (
	// apiVersion is that of the published API.
	apiVersion = "2021-03-01"
	query      = "kubernetesconfigurationresources" +
		" | where type =~ 'microsoft.kubernetesconfiguration/fluxconfigurations'" +
		" | project id, properties | order by id asc"
	// pageSize is the number of configurations in a page. Each can have the states of hundreds of objects.
	pageSize = 500
	// maxPages limits a read, to 250,000 configurations in full pages.
	maxPages = 500
	// maxPage limits an answer, in bytes.
	maxPage = 32 << 20
	// maxWait is the longest pause of a read if Azure asks to wait.
	maxWait = time.Minute
)

// Options are what a client is made from.
type Options struct {
	// Subscriptions or ManagementGroups say what is read; exactly one of them has values. // required
	Subscriptions, ManagementGroups []string
	// Endpoint is the address of Azure Resource Manager, Login that of Microsoft Entra ID. They default to those of the public cloud.
	Endpoint, Login string
	// Identity gets tokens. // required
	Identity Identity
	// Base sends requests; it defaults to the usual transport.
	Base http.RoundTripper
	// Clock defaults to the system clock.
	Clock transport.Clock
	// Observe is called after each attempt of a request; optional.
	Observe func(transport.Call)
}

// Client reads Flux configurations. It is safe for concurrent use.
type Client struct {
	options Options
	api     *http.Client
	tokens  *tokens
}

// New returns a client. The error is about an address.
func New(o Options) (*Client, error) {
	o.Endpoint, o.Login = cmp.Or(o.Endpoint, DefaultEndpoint), cmp.Or(o.Login, DefaultLogin)
	if o.Clock == nil {
		o.Clock = transport.SystemClock{}
	}
	if o.Base == nil {
		o.Base = outbound.Transport(outbound.Options{})
	}
	api, err := o.connect(o.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	login, err := o.connect(o.Login)
	if err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	return &Client{options: o, api: api, tokens: &tokens{identity: o.Identity, login: o.Login, resource: o.Endpoint, http: login, clock: o.Clock}}, nil
}

// connect returns an HTTP client for one host, which follows no redirects.
func (o *Options) connect(address string) (*http.Client, error) {
	site, err := forge.ParseSite(address)
	if err != nil || strings.Contains(address, "@") {
		return nil, errors.New("want a URL such as https://management.azure.com, without credentials")
	}
	if site.Scheme != "https" && !secret.IsLoopback(hostname(site.Host)) {
		return nil, errors.New("credentials are sent by https only")
	}
	return outbound.Over(transport.New(transport.Config{
		Site: site, Base: quota{o.Base}, Clock: o.Clock, MaxWait: maxWait, MaxBody: maxPage, Concurrent: 1, Observe: o.Observe,
	}), outbound.Never), nil
}

func hostname(host string) string {
	name, _, _ := strings.Cut(host, ":")
	return name
}

// quota turns the headers by which Resource Graph limits requests into the usual one.
type quota struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (q quota) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := q.next.RoundTrip(r)
	if err != nil || answer.Header.Get("Retry-After") != "" {
		return answer, err
	}
	if left, err := strconv.Atoi(answer.Header.Get("X-Ms-User-Quota-Remaining")); err != nil || left > 0 {
		return answer, nil //nolint:nilerr // without the header, there is no quota
	}
	if wait, ok := parseClock(answer.Header.Get("X-Ms-User-Quota-Resets-After")); ok {
		answer.Header.Set("Retry-After", strconv.Itoa(wait))
	}
	return answer, nil
}

// parseClock reads a duration in the form hh:mm:ss, in seconds.
func parseClock(text string) (seconds int, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return 0, false
	}
	for _, part := range parts {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil {
			return 0, false
		}
		seconds = seconds*60 + int(n)
	}
	return seconds, true
}

// Read returns all Flux configurations of the subscriptions or management groups, and what is wrong with some of them. An error means that
// nothing is known: a read that ends early has no result, because what is missing would look as if it did not exist.
func (c *Client) Read(ctx context.Context) ([]Configuration, []Problem, error) {
	var all []Configuration
	var problems []Problem
	next, seen := "", map[string]bool{}
	for range maxPages {
		page, err := c.page(ctx, next)
		if err != nil {
			return nil, nil, fmt.Errorf("read Azure Resource Graph: %w", err)
		}
		for _, row := range page.Data {
			configuration, err := ParseConfiguration(row)
			if err != nil {
				problems = append(problems, Problem{Resource: configuration.ID, Text: err.Error()})
				continue
			}
			all = append(all, configuration)
		}
		next = page.SkipToken
		switch {
		case next == "" && strings.EqualFold(page.ResultTruncated, "true"):
			return nil, nil, errors.New("read Azure Resource Graph: the answer is cut, and has no next page")
		case next == "":
			return all, problems, nil
		case seen[next]:
			return nil, nil, errors.New("read Azure Resource Graph: the pages repeat")
		}
		seen[next] = true
	}
	return nil, nil, fmt.Errorf("read Azure Resource Graph: more than %d pages; read fewer subscriptions", maxPages)
}

// page is an answer with the result format objectArray.
type page struct {
	Data            []json.RawMessage `json:"data"`
	SkipToken       string            `json:"$skipToken"`
	ResultTruncated string            `json:"resultTruncated"`
}

// request is a query.
type request struct {
	Subscriptions    []string       `json:"subscriptions,omitempty"`
	ManagementGroups []string       `json:"managementGroups,omitempty"`
	Query            string         `json:"query"`
	Options          requestOptions `json:"options"`
}

type requestOptions struct {
	Top          int    `json:"$top"`
	SkipToken    string `json:"$skipToken,omitempty"`
	ResultFormat string `json:"resultFormat"`
}

// page reads one page. A token that Azure does not accept any more is replaced once.
func (c *Client) page(ctx context.Context, skip string) (*page, error) {
	body, err := json.Marshal(request{
		Subscriptions: c.options.Subscriptions, ManagementGroups: c.options.ManagementGroups, Query: query,
		Options: requestOptions{pageSize, skip, "objectArray"},
	})
	if err != nil {
		return nil, err
	}
	var refused error
	for range 2 {
		token, err := c.tokens.get(ctx)
		if err != nil {
			return nil, err
		}
		status, text, err := c.post(ctx, body, token)
		switch {
		case err != nil:
			return nil, err
		case status == http.StatusUnauthorized:
			c.tokens.drop(token)
			refused = refusal(status, text)
		case status != http.StatusOK:
			return nil, refusal(status, text)
		default:
			var p page
			if err := json.Unmarshal(text, &p); err != nil {
				return nil, errors.New("the answer is not a page of objects") // the error would quote it
			}
			if p.Data == nil {
				return nil, errors.New("the answer has no data")
			}
			return &p, nil
		}
	}
	return nil, refused
}

func (c *Client) post(ctx context.Context, body []byte, token secret.Value) (int, []byte, error) {
	ctx = transport.WithOperation(ctx, transport.Operation{Name: "query resource graph", Repeatable: true})
	address := strings.TrimSuffix(c.options.Endpoint, "/") + "/providers/Microsoft.ResourceGraph/resources?api-version=" + apiVersion
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	return send(c.api, r)
}

// send sends a request and reads the answer, whose size the transport limits.
func send(client *http.Client, r *http.Request) (int, []byte, error) {
	answer, err := client.Do(r)
	if err != nil {
		var known *forge.Error
		if errors.As(err, &known) {
			return 0, nil, known // without the URL
		}
		return 0, nil, errors.New(secret.Scrub(err.Error()))
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, text, err
}

// refusal explains an answer that is an error. Its code is shown, and no text of it.
func refusal(status int, text []byte) error {
	var body struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(text, &body) // an answer without a code has only a status
	hint := ""
	switch {
	case status == http.StatusUnauthorized:
		hint = "; the token was not accepted: check tenant and client ID"
	case status == http.StatusForbidden:
		hint = "; the identity needs the role Reader on the subscriptions or management groups"
	case status >= 300 && status < 400:
		hint = "; redirects are not followed: check the endpoint"
	}
	return fmt.Errorf("status %d%s%s", status, code(body.Error.Code), hint)
}

// code returns the code of an error, if it is one.
func code(text string) string {
	if text == "" || len(text) > 100 || strings.Trim(text, letters) != "" {
		return ""
	}
	return " " + text
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// Identity is who reads: an application of a tenant, with a secret or with the token of its workload. Both are read from a file for
// each new token, because they change.
type Identity struct {
	// Tenant and Client are IDs. // required
	Tenant, Client string
	// Secret returns the client's secret, Federated the token of its workload. Exactly one of them is set.
	Secret, Federated func() (secret.Value, error)
}

// tokens gets tokens and keeps the last one until shortly before it expires.
type tokens struct {
	identity        Identity
	login, resource string
	http            *http.Client
	clock           transport.Clock

	mu      sync.Mutex
	last    secret.Value
	expires time.Time
}
