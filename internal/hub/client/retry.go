package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

const (
	// attempts is how often a request is sent at most.
	attempts = 5
	// firstPause is the one after the first attempt; each further one is twice as long, up to longestPause.
	firstPause   = 500 * time.Millisecond
	longestPause = time.Minute
)

// retry asks until there is an answer that counts, or it was asked often enough.
func (c *Client) retry(ctx context.Context, q *call, once func(context.Context) error) error {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		err := once(ctx)
		wait, again := worthwhile(q, err, pause)
		if !again || attempt == attempts || ctx.Err() != nil {
			return err
		}
		if c.pause(ctx, err, wait) != nil {
			return err
		}
		pause = min(2*pause, longestPause)
	}
}

// worthwhile says whether, and when, another attempt may end better.
// A request that changes something is sent again only when the server says that it did not take it.
func worthwhile(q *call, err error, pause time.Duration) (time.Duration, bool) {
	var r *Refusal
	if errors.As(err, &r) {
		busy := r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable
		away := r.Status == http.StatusBadGateway || r.Status == http.StatusGatewayTimeout
		return max(r.After, pause), busy && (q.reads() || r.After > 0) || away && q.reads()
	}
	return pause, q.reads() && errors.Is(err, ErrUnreachable)
}

// pause waits, and says why.
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
