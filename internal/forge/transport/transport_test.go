package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// answers is a server that gives one answer after the other, and then the last for ever.
func answers(t *testing.T, handlers ...http.HandlerFunc) (*httptest.Server, *int) {
	t.Helper()
	var mu sync.Mutex
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		handler := handlers[min(requests, len(handlers)-1)]
		requests++
		mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return server, &requests
}

// client returns a client to a server, and its clock. Jitter is always in the middle.
func client(t *testing.T, url string, c transport.Config) (*http.Client, *forgetest.Clock) {
	t.Helper()
	site, err := forge.ParseSite(url)
	if err != nil {
		t.Fatal(err)
	}
	clock := forgetest.NewClock(start)
	c.Site, c.Clock, c.Random = site, clock, func() float64 { return 0.5 }
	return transport.New(c).Client(), clock
}

func do(t *testing.T, c *http.Client, method, url, body string) (int, error) {
	t.Helper()
	ctx := transport.WithOperation(t.Context(), transport.Operation{Name: "try"})
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	return answer.StatusCode, nil
}

func TestRetries(t *testing.T) {
	ok := forgetest.Answer(200, "{}")
	for name, tc := range map[string]struct {
		method   string
		answers  []http.HandlerFunc
		status   int
		kind     error
		requests int
		slept    []time.Duration
	}{
		"an answer is an answer": {"GET", []http.HandlerFunc{ok}, 200, nil, 1, nil},
		"waits double": {
			"GET",
			[]http.HandlerFunc{forgetest.Answer(500, ""), forgetest.Answer(502, ""), forgetest.Answer(503, ""), ok},
			200, nil, 4,
			[]time.Duration{375 * time.Millisecond, 750 * time.Millisecond, 1500 * time.Millisecond},
		},
		"after four attempts the answer stands": {
			"PUT",
			[]http.HandlerFunc{forgetest.Answer(500, "")},
			500, nil, 4,
			[]time.Duration{375 * time.Millisecond, 750 * time.Millisecond, 1500 * time.Millisecond},
		},
		"what is not there stays so":        {"GET", []http.HandlerFunc{forgetest.Answer(404, "")}, 404, nil, 1, nil},
		"what is not implemented stays so":  {"GET", []http.HandlerFunc{forgetest.Answer(501, "")}, 501, nil, 1, nil},
		"a POST may have been carried out":  {"POST", []http.HandlerFunc{forgetest.Answer(502, ""), ok}, 502, nil, 1, nil},
		"unavailable for a while":           {"GET", []http.HandlerFunc{forgetest.Answer(503, "", "Retry-After", "5"), ok}, 200, nil, 2, []time.Duration{5 * time.Second}},
		"a limited POST was not":            {"POST", []http.HandlerFunc{forgetest.Answer(429, "", "Retry-After", "9"), ok}, 200, nil, 2, []time.Duration{9 * time.Second}},
		"a limit that ends at a date":       {"GET", []http.HandlerFunc{forgetest.Answer(429, "", "Retry-After", "Tue, 01 Jan 2030 00:00:08 GMT"), ok}, 200, nil, 2, []time.Duration{8 * time.Second}},
		"a limit that does not say more":    {"GET", []http.HandlerFunc{forgetest.Answer(429, ""), ok}, 200, nil, 2, []time.Duration{time.Second}},
		"a limit with a strange header":     {"GET", []http.HandlerFunc{forgetest.Answer(429, "", "Retry-After", "soon"), ok}, 200, nil, 2, []time.Duration{time.Second}},
		"a limit that resets":               {"GET", []http.HandlerFunc{forgetest.Answer(429, "", "RateLimit-Remaining", "0", "RateLimit-Reset", "1893456010"), ok}, 200, nil, 2, []time.Duration{11 * time.Second}},
		"a secondary limit in words":        {"GET", []http.HandlerFunc{forgetest.Answer(403, `{"message":"You have exceeded a secondary rate limit"}`), ok}, 200, nil, 2, []time.Duration{time.Minute}},
		"a secondary limit with 429":        {"GET", []http.HandlerFunc{forgetest.Answer(429, `{"message":"You have exceeded a secondary rate limit"}`), ok}, 200, nil, 2, []time.Duration{time.Minute}},
		"a limit that is too long":          {"GET", []http.HandlerFunc{forgetest.Answer(429, "", "Retry-After", "61")}, 0, forge.ErrRateLimited, 1, nil},
		"a limit that does not end":         {"GET", []http.HandlerFunc{forgetest.Answer(429, "", "Retry-After", "9")}, 0, forge.ErrRateLimited, 4, []time.Duration{9 * time.Second, 9 * time.Second, 9 * time.Second}},
		"a lock of GitLab":                  {"POST", []http.HandlerFunc{forgetest.Answer(409, `{"message":"409 Conflict: Resource lock"}`), ok}, 200, nil, 2, []time.Duration{375 * time.Millisecond}},
		"a lock that stays":                 {"PUT", []http.HandlerFunc{forgetest.Answer(409, `{"message":"409 Conflict: Resource lock"}`)}, 409, nil, 4, []time.Duration{375 * time.Millisecond, 750 * time.Millisecond, 1500 * time.Millisecond}},
		"another conflict":                  {"POST", []http.HandlerFunc{forgetest.Answer(409, `{"message":"SHA does not match"}`), ok}, 409, nil, 1, nil},
		"a right that is missing":           {"GET", []http.HandlerFunc{forgetest.Answer(403, `{"message":"no"}`)}, 403, nil, 1, nil},
		"the last one of the quota is fine": {"GET", []http.HandlerFunc{forgetest.Answer(200, "", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1893456010")}, 200, nil, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server, requests := answers(t, tc.answers...)
			c, clock := client(t, server.URL, transport.Config{})
			status, err := do(t, c, tc.method, server.URL, "body")
			if status != tc.status || !errors.Is(err, tc.kind) || (err == nil) != (tc.kind == nil) {
				t.Errorf("got %d, %v", status, err)
			}
			if *requests != tc.requests {
				t.Errorf("%d requests, want %d", *requests, tc.requests)
			}
			if diff := cmp.Diff(tc.slept, clock.Slept()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRepeatablePOST(t *testing.T) {
	var bodies []string
	server, _ := answers(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		w.WriteHeader(map[bool]int{true: 502, false: 200}[len(bodies) == 1])
	})
	c, _ := client(t, server.URL, transport.Config{})
	ctx := transport.WithOperation(t.Context(), transport.Operation{Name: "set status", Repeatable: true})
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("the body"))
	answer, err := c.Do(r)
	if err != nil || answer.StatusCode != 200 || !cmp.Equal(bodies, []string{"the body", "the body"}) {
		t.Errorf("got %v, %v; sent %q", answer, err, bodies)
	}
}

func TestExhaustedQuotaDelaysTheNext(t *testing.T) {
	const remaining, reset, resource = "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Resource"
	for name, tc := range map[string]struct {
		headers []string
		want    []time.Duration
	}{
		"nothing remains":               {[]string{remaining, "0", reset, "1893456030"}, []time.Duration{31 * time.Second}},
		"nothing remains of another":    {[]string{remaining, "0", reset, "1893456030", resource, "search"}, nil},
		"a delay of Azure DevOps":       {[]string{remaining, "0", reset, "1893456030", resource, "Concurrency", "X-RateLimit-Delay", "5"}, []time.Duration{31 * time.Second}},
		"a delay that says how long":    {[]string{remaining, "0", reset, "1893456030", resource, "Concurrency", "X-RateLimit-Delay", "5", "Retry-After", "7"}, []time.Duration{7 * time.Second}},
		"a delay with some remaining":   {[]string{remaining, "3", reset, "1893456030", resource, "Concurrency", "X-RateLimit-Delay", "5"}, nil},
		"success, but wait before more": {[]string{"Retry-After", "9"}, []time.Duration{9 * time.Second}},
	} {
		server, _ := answers(t, forgetest.Answer(200, "", tc.headers...), forgetest.Answer(200, ""))
		c, clock := client(t, server.URL, transport.Config{})
		for range 2 {
			if _, err := do(t, c, "GET", server.URL, ""); err != nil {
				t.Fatal(err)
			}
		}
		if slept := clock.Slept(); !cmp.Equal(slept, tc.want) {
			t.Errorf("%s: slept %v, want %v", name, slept, tc.want)
		}
	}
}

func TestRate(t *testing.T) {
	server, _ := answers(t, forgetest.Answer(200, ""))
	c, clock := client(t, server.URL, transport.Config{Rate: 2, Burst: 3})
	for range 5 {
		if _, err := do(t, c, "GET", server.URL, ""); err != nil {
			t.Fatal(err)
		}
	}
	if slept := clock.Slept(); !cmp.Equal(slept, []time.Duration{500 * time.Millisecond, 500 * time.Millisecond}) {
		t.Errorf("after three at once, slept %v, want half a second before each", slept)
	}
}

// Writes are spaced, and reads are not. A write that would wait for longer than a minute is an error that says how long.
func TestWritesAreSpaced(t *testing.T) {
	server, _ := answers(t, forgetest.Answer(200, ""))
	c, clock := client(t, server.URL, transport.Config{Writes: 1, WriteBurst: 2})
	for _, method := range []string{"PATCH", "DELETE", "GET", "PUT", "GET"} {
		if _, err := do(t, c, method, server.URL, ""); err != nil {
			t.Fatal(err)
		}
	}
	if slept := clock.Slept(); !cmp.Equal(slept, []time.Duration{time.Second}) {
		t.Errorf("after two writes at once, slept %v, want a second before the third", slept)
	}
	c, _ = client(t, server.URL, transport.Config{Writes: 0.01, WriteBurst: 1})
	if _, err := do(t, c, "PUT", server.URL, ""); err != nil {
		t.Fatal(err)
	}
	_, err := do(t, c, "PUT", server.URL, "")
	var limited *forge.Error
	if !errors.As(err, &limited) || !errors.Is(err, forge.ErrRateLimited) || limited.RetryAfter != 100*time.Second {
		t.Errorf("got %v, want that it waits for 100 s", err)
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	entered, release := make(chan struct{}, 10), make(chan struct{})
	server, _ := answers(t, func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	c, _ := client(t, server.URL, transport.Config{Concurrent: 2})
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() { _, _ = do(t, c, "GET", server.URL, "") })
	}
	<-entered
	<-entered
	if len(entered) > 0 {
		t.Error("a third request is under way")
	}
	close(release)
	group.Wait()
	if len(entered) != 3 {
		t.Errorf("%d more requests, want 3", len(entered))
	}
}

func TestObserve(t *testing.T) {
	server, _ := answers(t, forgetest.Answer(429, "", "Retry-After", "1"), forgetest.Answer(500, ""), forgetest.Answer(200, ""))
	var calls []transport.Call
	c, _ := client(t, server.URL, transport.Config{Observe: func(call transport.Call) { calls = append(calls, call) }})
	if _, err := do(t, c, "GET", server.URL, ""); err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	want := []transport.Call{
		{Forge: host, Operation: "try", Result: "rate limited", Status: 429, Attempt: 1},
		{Forge: host, Operation: "try", Result: "unavailable", Status: 500, Attempt: 2},
		{Forge: host, Operation: "try", Result: "ok", Status: 200, Attempt: 3},
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
}

func TestCredentialIsNotSentToOtherHosts(t *testing.T) {
	authorize := func(r *http.Request) error { r.Header.Set("Authorization", "Bearer secret"); return nil }
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("")), Header: http.Header{}, Request: r}, nil
	})
	for _, tc := range []struct {
		site, url string
		plain, ok bool
	}{
		{"https://github.com", "https://api.github.com/x", false, true},
		{"https://github.com", "https://github.com/x", false, true},
		{"https://github.com", "https://github.com.evil.example/x", false, false},
		{"https://github.com", "https://evil.example/x", false, false},
		{"https://github.com", "http://github.com/x", false, false},
		{"http://git.example.com", "http://git.example.com/x", false, false},
		{"http://git.example.com", "http://git.example.com/x", true, true},
		{"http://127.0.0.1:3000", "http://127.0.0.1:3000/x", false, true},
		{"http://127.0.0.1:3000", "http://127.0.0.1:3001/x", false, false},
	} {
		site, err := forge.ParseSite(tc.site)
		if err != nil {
			t.Fatal(err)
		}
		c := transport.New(transport.Config{Site: site, APIHost: "api.github.com", Authorize: authorize, PlainHTTP: tc.plain, Base: base}).Client()
		if _, err := do(t, c, "GET", tc.url, ""); (err == nil) != tc.ok {
			t.Errorf("%s on %s: %v, want ok=%v", tc.url, tc.site, err, tc.ok)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestUnreachable(t *testing.T) {
	server, _ := answers(t, forgetest.Answer(200, ""))
	server.Close()
	c, clock := client(t, server.URL, transport.Config{})
	// A POST is tried again: no connection was made.
	_, err := do(t, c, "POST", server.URL, "body")
	if !errors.Is(err, forge.ErrUnavailable) || len(clock.Slept()) != 3 {
		t.Errorf("got %v", err)
	}
}

func TestCanceledWhileWaiting(t *testing.T) {
	server, _ := answers(t, forgetest.Answer(500, ""))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, _ := client(t, server.URL, transport.Config{Observe: func(transport.Call) { cancel() }})
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if _, err := c.Do(r); !errors.Is(err, context.Canceled) || errors.Is(err, forge.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
