package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Transport is the way to one forge. It is safe for use by many goroutines.
type Transport struct {
	config Config
	gate   *gate
}

// New returns the way to a forge.
func New(c Config) *Transport {
	c = c.withDefaults()
	return &Transport{config: c, gate: newGate(c)}
}

// Client returns an HTTP client that goes this way. It follows redirects that keep the method, on the forge's hosts.
func (t *Transport) Client() *http.Client {
	return &http.Client{
		Transport: t,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) >= 5 || next.Method != via[0].Method {
				return http.ErrUseLastResponse
			}
			return nil // RoundTrip refuses other hosts.
		},
	}
}

// RoundTrip sends a request, again where that is allowed and useful. The answer's body is in memory.
// Its errors are of package forge, or the context's own; an answer that says no is no error.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := t.check(request); err != nil {
		closeBody(request)
		return nil, err
	}
	op := operationOf(request.Context())
	for attempt := 1; ; attempt++ {
		o := t.attempt(request, op, attempt)
		if !o.again || attempt == t.config.Attempts || o.wait > t.config.MaxWait {
			return o.finish(request.Context(), op)
		}
		wait := max(o.wait, t.backoff(attempt))
		if err := t.config.Clock.Sleep(request.Context(), wait); err != nil {
			return nil, explain(request.Context(), op, err)
		}
	}
}

// check refuses requests that would show the credential to somebody else.
func (t *Transport) check(r *http.Request) error {
	host := strings.ToLower(r.URL.Host)
	if host != t.config.Site.Host && (t.config.APIHost == "" || host != t.config.APIHost) {
		return &forge.Error{
			Kind: forge.ErrDenied, Op: operationOf(r.Context()).Name, Where: r.URL.Scheme + "://" + host,
			Detail: "the forge sends us to another host", Hint: "check the URL of the forge in the configuration",
		}
	}
	if r.URL.Scheme != "https" && t.config.Authorize != nil && !t.config.PlainHTTP && !loopback(r.URL.Hostname()) {
		return &forge.Error{
			Kind: forge.ErrDenied, Op: operationOf(r.Context()).Name, Where: r.URL.Scheme + "://" + host,
			Detail: "a token is not sent over plain http", Hint: "use https",
		}
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// attempt sends a request once and reads the whole answer.
func (t *Transport) attempt(request *http.Request, op Operation, number int) outcome {
	leave, closed, err := t.gate.enter(request.Context())
	if err != nil {
		return outcome{err: err}
	}
	if leave == nil {
		return outcome{err: &forge.Error{
			Kind: forge.ErrRateLimited, Op: op.Name, Where: t.config.Site.Host, RetryAfter: closed,
		}}
	}
	defer leave()
	start := t.config.Clock.Now()
	answer, err := t.send(request)
	o := t.judge(request, op, answer, err)
	t.config.Observe(Call{
		Forge: t.config.Site.Host, Operation: op.Name, Result: o.result(request.Context()), Status: status(answer),
		Attempt: number, Duration: t.config.Clock.Now().Sub(start),
	})
	return o
}

func (t *Transport) send(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), t.config.Timeout)
	defer cancel()
	r := request.Clone(ctx)
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		r.Body = body
	}
	if t.config.Authorize != nil {
		if err := t.config.Authorize(r); err != nil {
			return nil, err
		}
	}
	answer, err := t.config.Base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := readWhole(answer, t.config.MaxBody); err != nil {
		return nil, err
	}
	answer.Request = request
	return answer, nil
}

// judge says whether another attempt may help, and how long the forge wants us to wait before it.
// A rate limit closes the gate for everybody.
func (t *Transport) judge(r *http.Request, op Operation, answer *http.Response, err error) outcome {
	if err != nil {
		may := r.Context().Err() == nil && passing(err) && resendable(r)
		return outcome{err: err, again: may && (repeatable(r, op) || neverSent(err))}
	}
	now := t.config.Clock.Now()
	if wait, yes := limited(answer, now); yes {
		wait = max(wait, time.Second)
		t.gate.close(wait)
		return outcome{answer: answer, limited: true, again: resendable(r), wait: wait}
	}
	if wait := exhausted(answer.Header, now); wait > 0 {
		t.gate.close(wait)
	}
	wait, _ := retryAfter(answer.Header, now)
	fails := answer.StatusCode >= 500 && answer.StatusCode != http.StatusNotImplemented
	return outcome{answer: answer, again: fails && resendable(r) && repeatable(r, op), wait: wait}
}

// passing says whether an error may be gone the next time.
func passing(err error) bool {
	var known *forge.Error
	return !errors.As(err, &known) && !errors.Is(err, errTooLarge)
}

// repeatable says whether doing it twice is as good as doing it once. PATCH is in the APIs of forges:
// it sets fields to values.
func repeatable(r *http.Request, op Operation) bool {
	return op.Repeatable || r.Method != http.MethodPost
}

// resendable says whether a request's body can be had again.
func resendable(r *http.Request) bool { return r.Body == nil || r.GetBody != nil }

// neverSent says whether a connection was never made.
func neverSent(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// backoff grows from half a second by doubling, with jitter so that those who failed together do not come back together.
func (t *Transport) backoff(attempt int) time.Duration {
	const first, most = 500 * time.Millisecond, 30 * time.Second
	d := min(first<<(attempt-1), most)
	return d/2 + time.Duration(t.config.Random()*float64(d/2))
}

// outcome is how an attempt ended, and whether and when another one may help.
type outcome struct {
	answer  *http.Response
	err     error
	limited bool // the answer is a rate limit's
	again   bool
	wait    time.Duration
}

// finish makes the last attempt's outcome the request's.
func (o outcome) finish(ctx context.Context, op Operation) (*http.Response, error) {
	if o.err != nil {
		return nil, explain(ctx, op, o.err)
	}
	if o.limited {
		return nil, &forge.Error{
			Kind: forge.ErrRateLimited, Op: op.Name, Where: o.answer.Request.URL.Host,
			RetryAfter: o.wait, Status: o.answer.StatusCode,
		}
	}
	return o.answer, nil
}

// explain brings an error of the network into the vocabulary of forges. The end of the caller's context stays what it is,
// that of an attempt's own is the forge's silence.
func explain(ctx context.Context, op Operation, err error) error {
	var known *forge.Error
	switch {
	case ctx.Err() != nil && op.Name != "":
		return fmt.Errorf("%s: %w", op.Name, ctx.Err())
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return &forge.Error{Kind: forge.ErrUnavailable, Op: op.Name, Detail: "no answer in time"}
	}
	return &forge.Error{Kind: forge.ErrUnavailable, Op: op.Name, Detail: detail(err)}
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}
