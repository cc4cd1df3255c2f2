package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

const (
	// maxAttempts is how often a request is sent at most.
	maxAttempts = 5
	// firstPause follows the first attempt. Each further pause is twice as long, up to longestPause.
	firstPause   = 500 * time.Millisecond
	longestPause = time.Minute
)

// retry calls attempt until it succeeds, fails for good, or was called maxAttempts times.
func (c *Client) retry(ctx context.Context, q *call, attempt func(context.Context) error) error {
	pause := firstPause
	for n := 1; ; n++ {
		err := attempt(ctx)
		wait, again := retryable(q, err, pause)
		if !again || n == maxAttempts || ctx.Err() != nil {
			return err
		}
		if c.pause(ctx, err, wait) != nil {
			return err
		}
		pause = min(2*pause, longestPause)
	}
}

// retryable reports whether another attempt may succeed, and how long to wait before it.
// A request that changes something is repeated only when the server says that it did not accept it.
func retryable(q *call, err error, pause time.Duration) (time.Duration, bool) {
	var r *Refusal
	if errors.As(err, &r) {
		busy := r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable
		away := r.Status == http.StatusBadGateway || r.Status == http.StatusGatewayTimeout
		return max(min(r.After, longestPause), pause), busy && (q.safe() || r.After > 0) || away && q.safe()
	}
	return pause, q.safe() && errors.Is(err, ErrUnreachable) && !lasting(err)
}

// lasting reports whether an error stays until a user changes something: a wrong scheme, an unknown name, or a certificate that is not trusted.
func lasting(err error) bool {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &record) || errors.As(err, &certificate) ||
		errors.As(err, &name) && name.IsNotFound
}

// pause tells Waiting, and waits until the pause or the context ends.
func (c *Client) pause(ctx context.Context, reason error, d time.Duration) error {
	if c.Waiting != nil {
		c.Waiting(reason, d)
	}
	if c.sleep != nil {
		return c.sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
