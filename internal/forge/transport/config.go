package transport

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Config says how to talk to a forge. The zero value of a field means what its comment says.
type Config struct {
	// Site is where the forge is. Requests go to its hosts only.
	Site forge.Site // required
	// APIHost is a second host that is the forge's, as "api.github.com" is.
	APIHost string
	// Authorize adds the credential to a request. Nil sends none.
	Authorize func(*http.Request) error
	// PlainHTTP allows to send the credential unencrypted to other machines than this one.
	PlainHTTP bool

	// Base sends requests; nil means a clone of [http.DefaultTransport].
	Base http.RoundTripper
	// Attempts is how often a request is tried at most; 0 means 4.
	Attempts int
	// Timeout bounds one attempt; 0 means 30 s.
	Timeout time.Duration
	// MaxWait is the longest wait that is waited; 0 means a minute.
	MaxWait time.Duration
	// MaxBody is how many bytes an answer may have; 0 means 32 MiB.
	MaxBody int64
	// Rate is how many requests are started a second; 0 means no limit. Burst is how many of them at once.
	Rate  float64
	Burst int
	// Concurrent is how many requests are under way at most; 0 means 8.
	Concurrent int

	// Clock is nil for the machine's.
	Clock Clock
	// Random returns numbers between 0 and 1, for jitter; nil means a good source.
	Random func() float64
	// Observe is called after each attempt, from many goroutines at once; may be nil.
	Observe func(Call)
}

func (c Config) withDefaults() Config {
	if c.Base == nil {
		c.Base = http.DefaultTransport
		if t, ok := c.Base.(*http.Transport); ok {
			c.Base = t.Clone() // connections of our own
		}
	}
	c.Attempts = or(c.Attempts, 4)
	c.Timeout = or(c.Timeout, 30*time.Second)
	c.MaxWait = or(c.MaxWait, time.Minute)
	c.MaxBody = or(c.MaxBody, 32<<20)
	c.Burst = or(c.Burst, 10)
	c.Concurrent = or(c.Concurrent, 8)
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

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// Call is an attempt that is over, for metrics.
type Call struct {
	// Forge is the host.
	Forge string
	// Operation is the name of the operation it belongs to: "open pull request".
	Operation string
	// Result is "ok", a kind of error such as "not found", "redirected", or "canceled".
	Result string
	// Status is the answer's; 0 when there was none.
	Status int
	// Attempt counts from 1.
	Attempt  int
	Duration time.Duration
}

// Operation says what a request is about.
type Operation struct {
	// Name is a plain verb form, from a small set since metrics have it as a label.
	Name string
	// Repeatable allows to repeat a request whose method does not say that it may be.
	Repeatable bool
}

type operationKey struct{}

// WithOperation returns a context whose requests belong to an operation.
func WithOperation(ctx context.Context, o Operation) context.Context {
	return context.WithValue(ctx, operationKey{}, o)
}

// operationOf is the operation that a request belongs to.
func operationOf(ctx context.Context) Operation {
	o, _ := ctx.Value(operationKey{}).(Operation)
	return o
}
