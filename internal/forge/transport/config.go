package transport

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
)

// Config configures a [Transport].
type Config struct {
	// Site is the address of the forge. Requests go to its hosts only.
	Site forge.Site // required
	// APIHost is another host of the forge, such as "api.github.com".
	APIHost string
	// Authorize adds the credential to a request; optional.
	Authorize func(*http.Request) error
	// PlainHTTP allows sending the credential unencrypted to other machines.
	PlainHTTP bool

	// Base sends requests. It defaults to one of package outbound.
	Base http.RoundTripper
	// Attempts is the maximum number of attempts of a request; 0 means 4.
	Attempts int
	// Timeout limits one attempt; 0 means 30 s.
	Timeout time.Duration
	// MaxWait is the longest wait before a retry; 0 means a minute.
	MaxWait time.Duration
	// MaxBody limits responses, in bytes; 0 means 32 MiB.
	MaxBody int64
	// Rate limits requests per second; 0 means no limit. Burst is how many of them can start at once; 0 means 10.
	Rate  float64
	Burst int
	// Writes limits requests per second that are not reads; without a positive number, there is no limit. WriteBurst is how many of them can start at once; 0 means 20.
	Writes     float64
	WriteBurst int
	// Concurrent limits the requests that run at the same time; 0 means 8.
	Concurrent int

	// Clock defaults to the system clock.
	Clock Clock
	// Random returns numbers in [0, 1) for jitter. It defaults to [rand.Float64].
	Random func() float64
	// Observe is called after each attempt, possibly concurrently; optional.
	Observe func(Call)
}

func (c Config) withDefaults() Config {
	if c.Base == nil {
		c.Base = outbound.Transport(outbound.Options{})
	}
	c.Attempts = cmp.Or(c.Attempts, 4)
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	c.MaxWait = cmp.Or(c.MaxWait, time.Minute)
	c.MaxBody = cmp.Or(c.MaxBody, 32<<20)
	c.Burst = cmp.Or(c.Burst, 10)
	c.WriteBurst = cmp.Or(c.WriteBurst, 20)
	c.Concurrent = cmp.Or(c.Concurrent, 8)
	if c.Clock == nil {
		c.Clock = SystemClock{}
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Observe == nil {
		c.Observe = func(Call) {}
	}
	return c
}

// Call describes a finished attempt, for metrics.
type Call struct {
	// Forge is the host.
	Forge string
	// Operation is the name of the operation, such as "open pull request".
	Operation string
	// Result is "ok", "unchanged", "redirected", "canceled", or a kind of error such as "not found".
	Result string
	// Status is the HTTP status; 0 without a response.
	Status int
	// Attempt counts from 1.
	Attempt  int
	Duration time.Duration
}

// Operation describes a request.
type Operation struct {
	// Name comes from a small set, because it is a label of metrics.
	Name string
	// Repeatable marks a POST as idempotent.
	Repeatable bool
	// Reads marks a POST as a read, such as a query of GraphQL.
	Reads bool
	// Conditional marks a GET whose response has an ETag that changes with all that the response says. The forge
	// then sends it again only if it has changed.
	Conditional bool
}

type operationKey struct{}

// WithOperation returns a context for requests of an operation.
func WithOperation(ctx context.Context, o Operation) context.Context {
	return context.WithValue(ctx, operationKey{}, o)
}

// operationOf returns the operation of a context.
func operationOf(ctx context.Context) Operation {
	o, _ := ctx.Value(operationKey{}).(Operation)
	return o
}
