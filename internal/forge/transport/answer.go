package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var errTooLarge = errors.New("the answer is too large")

// readWhole replaces an answer's body by its content.
func readWhole(r *http.Response, limit int64) error {
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return err
	}
	if int64(len(body)) > limit {
		return fmt.Errorf("%w: more than %d bytes", errTooLarge, limit)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return nil
}

// limited reports whether an answer is a rate limit's, and how long the forge wants us to wait; 0 when it does not say.
//
// 429 is one. GitHub also answers 403, with Retry-After, with nothing remaining, or, for the limits that it calls
// secondary, with nothing but a sentence.
func limited(r *http.Response, now time.Time) (wait time.Duration, yes bool) {
	wait, said := retryAfter(r.Header, now)
	switch r.StatusCode {
	case http.StatusTooManyRequests:
		if !said {
			wait, _ = untilReset(r.Header, now)
		}
		return wait, true
	case http.StatusForbidden:
		if said {
			return wait, true
		}
		if wait, exhausted := untilReset(r.Header, now); exhausted {
			return wait, true
		}
		if secondaryLimit(r) {
			return secondaryWait, true
		}
	}
	return 0, false
}

// secondaryWait is how long GitHub asks to wait at least when it does not say how long.
const secondaryWait = time.Minute

func secondaryLimit(r *http.Response) bool {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return strings.Contains(strings.ToLower(string(body)), "secondary rate limit")
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, maxSeconds)) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// maxSeconds bounds what a broken header can ask for: a day.
const maxSeconds = 24 * 60 * 60

// untilReset returns how long it is until the forge counts anew, when its headers say that nothing remains.
func untilReset(h http.Header, now time.Time) (time.Duration, bool) {
	for _, prefix := range []string{"X-Ratelimit-", "Ratelimit-"} {
		if h.Get(prefix+"Remaining") != "0" {
			continue
		}
		at, err := strconv.ParseInt(h.Get(prefix+"Reset"), 10, 64)
		if err != nil {
			continue
		}
		// A second more, since the forge's second is not ours.
		wait := time.Unix(at, 0).Sub(now) + time.Second
		return min(max(wait, time.Second), maxSeconds*time.Second), true
	}
	return 0, false
}

// exhausted is how long to hold back after an answer that was fine and the last one of its quota.
// Quotas of other resources, as GitHub counts its search, are not ours.
func exhausted(h http.Header, now time.Time) time.Duration {
	if resource := h.Get("X-Ratelimit-Resource"); resource != "" && resource != "core" {
		return 0
	}
	wait, _ := untilReset(h, now)
	return wait
}
