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

// limited reports whether a response is a rate limit, and how long to wait; 0 if the forge does not say.
//
// 429 is one. GitHub also answers 403: with Retry-After, with nothing remaining, or, for its secondary limits, only with
// a message.
func limited(r *http.Response, now time.Time) (wait time.Duration, yes bool) {
	wait, given := retryAfter(r.Header, now)
	switch r.StatusCode {
	case http.StatusTooManyRequests:
		known := given
		if !given {
			wait, known = untilReset(r.Header, now)
		}
		if !known && (secondaryLimit(r) || r.Header.Get("X-Github-Request-Id") != "") {
			wait = secondaryWait
		}
		return wait, true
	case http.StatusForbidden:
		if given {
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

func secondaryLimit(r *http.Response) bool { return says(r, "secondary rate limit") }

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

// untilReset returns how long it is until the forge counts from zero again, if its headers say that nothing remains.
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

// exhausted returns how long other requests wait after a response that used up the quota.
// It ignores quotas of other resources, such as GitHub's search. Azure DevOps delays responses before it refuses any, and then asks
// to wait: https://learn.microsoft.com/azure/devops/integrate/concepts/rate-limits
func exhausted(r *http.Response, now time.Time) time.Duration {
	h := r.Header
	if wait, given := retryAfter(h, now); given && r.StatusCode < 300 {
		return wait
	}
	delayed := h.Get("X-Ratelimit-Delay") != ""
	if resource := h.Get("X-Ratelimit-Resource"); resource != "" && resource != "core" && !delayed {
		return 0
	}
	wait, _ := untilReset(h, now)
	return wait
}

// locked reports whether GitLab refused a request because another one holds the lock of the same object. Nothing was done.
// https://gitlab.com/gitlab-org/gitlab/-/blob/master/lib/api/api.rb
func locked(r *http.Response) bool {
	return r.StatusCode == http.StatusConflict && says(r, "resource lock")
}

// says reports whether the body of a response contains a text, in lower case.
func says(r *http.Response, text string) bool {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return strings.Contains(strings.ToLower(string(body)), text)
}
