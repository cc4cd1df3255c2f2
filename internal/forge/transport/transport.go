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
	"github.com/kalypso-io/kalypso/internal/text/outbound"
)

// Transport sends requests to one forge. It is safe for concurrent use.
type Transport struct {
	config Config
	gate   *gate
	memory *memory
}

// New returns a transport.
func New(c Config) *Transport {
	c = c.withDefaults()
	return &Transport{config: c, gate: newGate(c), memory: newMemory()}
}

// Client returns an HTTP client with this transport. It follows redirects that keep the method and stay on hosts of the forge.
func (t *Transport) Client() *http.Client {
	return outbound.Over(t, func(next *http.Request, via []*http.Request) error {
		if len(via) >= 5 || next.Method != via[0].Method {
			return http.ErrUseLastResponse
		}
		return nil // RoundTrip refuses other hosts.
	})
}

// RoundTrip sends a request, and retries it if that is safe and may help. The response body is in memory.
// Errors are those of package forge or of the context. A response with an error status is not an error.
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

// check refuses requests that would leak the credential.
func (t *Transport) check(r *http.Request) error {
	host := strings.ToLower(r.URL.Host)
	if host != t.config.Site.Host && (t.config.APIHost == "" || host != t.config.APIHost) {
		return &forge.Error{
			Kind: forge.ErrDenied, Op: operationOf(r.Context()).Name, Where: r.URL.Scheme + "://" + host,
			Detail: "the forge redirects to another host", Hint: "check the URL of the forge in the configuration",
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

// attempt sends a request once, and reads the whole response.
func (t *Transport) attempt(request *http.Request, op Operation, number int) outcome {
	leave, closed, err := t.gate.enter(request.Context(), writes(request, op))
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
	answer, unchanged, err := t.send(request, op)
	o := t.judge(request, op, answer, err)
	call := Call{
		Forge: t.config.Site.Host, Operation: op.Name, Result: o.result(request.Context()), Status: status(answer),
		Attempt: number, Duration: t.config.Clock.Now().Sub(start),
	}
	if unchanged {
		call.Result, call.Status = "unchanged", http.StatusNotModified
	}
	t.config.Observe(call)
	return o
}

// send sends a request. unchanged means that the response is a kept one, which the forge has confirmed.
func (t *Transport) send(request *http.Request, op Operation) (answer *http.Response, unchanged bool, err error) {
	ctx, cancel := context.WithTimeout(request.Context(), t.config.Timeout)
	defer cancel()
	r := request.Clone(ctx)
	if request.GetBody != nil {
		if r.Body, err = request.GetBody(); err != nil {
			return nil, false, err
		}
	}
	if t.config.Authorize != nil {
		if err := t.config.Authorize(r); err != nil {
			return nil, false, err
		}
	}
	key, known := t.memory.ask(r, op, t.config.Clock.Now())
	if answer, err = t.config.Base.RoundTrip(r); err != nil {
		return nil, false, err
	}
	if err = readWhole(answer, t.config.MaxBody); err != nil {
		return nil, false, err
	}
	answer.Request = request
	unchanged, err = t.memory.answer(answer, key, known, t.config.Clock.Now())
	return answer, unchanged, err
}

// judge decides whether to try again, and after how long. A rate limit closes the gate for all requests.
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
	if locked(answer) {
		return outcome{answer: answer, again: resendable(r)}
	}
	if wait := exhausted(answer, now); wait > 0 {
		t.gate.close(wait)
	}
	wait, _ := retryAfter(answer.Header, now)
	fails := answer.StatusCode >= 500 && answer.StatusCode != http.StatusNotImplemented
	return outcome{answer: answer, again: fails && resendable(r) && repeatable(r, op), wait: wait}
}

// passing reports whether an error may be temporary.
func passing(err error) bool {
	var known *forge.Error
	return !errors.As(err, &known) && !errors.Is(err, errTooLarge)
}

// writes reports whether a request may change something.
func writes(r *http.Request, op Operation) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !op.Reads
}

// repeatable reports whether a request is idempotent. In the APIs of forges, PATCH is.
func repeatable(r *http.Request, op Operation) bool {
	return op.Repeatable || r.Method != http.MethodPost
}

// resendable reports whether the body can be read again.
func resendable(r *http.Request) bool { return r.Body == nil || r.GetBody != nil }

// neverSent reports whether the connection failed.
func neverSent(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// backoff doubles from half a second, with jitter so that clients that failed together do not retry together.
func (t *Transport) backoff(attempt int) time.Duration {
	const first, most = 500 * time.Millisecond, 30 * time.Second
	d := min(first<<(attempt-1), most)
	return d/2 + time.Duration(t.config.Random()*float64(d/2))
}

// outcome is the result of an attempt, and whether and when to try again.
type outcome struct {
	answer  *http.Response
	err     error
	limited bool // the response is a rate limit
	again   bool
	wait    time.Duration
}

// finish turns the outcome of the last attempt into the result of the request.
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

// explain converts a network error to a [*forge.Error]. If the caller's context ended, it keeps the context's error;
// if the attempt timed out, the forge is unavailable.
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
		return &forge.Error{Kind: forge.ErrUnavailable, Op: op.Name, Detail: "no response in time"}
	}
	return &forge.Error{Kind: forge.ErrUnavailable, Op: op.Name, Detail: detail(err)}
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}
