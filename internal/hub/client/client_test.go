package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const token = "t0ken-of-ann"

// newClient returns a client of a handler, and the pauses that it would have made.
func newClient(t *testing.T, handle http.HandlerFunc) (*Client, *[]time.Duration) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	pauses := &[]time.Duration{}
	return &Client{
		Server: address, Token: secret.New(token), UserAgent: "kalypso/test",
		sleep: func(ctx context.Context, d time.Duration) error {
			*pauses = append(*pauses, d)
			return ctx.Err()
		},
	}, pauses
}

type environment struct {
	Name string `json:"name"`
}

func ask(ctx context.Context, c *Client, path string) error {
	_, err := Ask[environment](ctx, c, path, nil)
	return err
}

func tell(ctx context.Context, c *Client, path string) error {
	_, err := Tell[environment](ctx, c, path, nil, environment{"dev"})
	return err
}

func TestAskRequestsAPathWithTheToken(t *testing.T) {
	var got []string
	c, _ := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		got = []string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("Authorization"), r.Header.Get("Accept"), r.Header.Get("User-Agent")}
		fmt.Fprint(w, `{"name": "dev", "unknown": 1}`)
	})
	e, err := Ask[environment](t.Context(), c, "environments/{name}", struct {
		Name  string `path:"name"`
		Limit int    `query:"limit"`
	}{"a/b ?", 2})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"GET", "/api/v1/environments/a%2Fb%20%3F", "limit=2", "Bearer " + token, "application/json", "kalypso/test"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if e.Name != "dev" {
		t.Errorf("got %+v", e)
	}
}

func TestTellSendsJSON(t *testing.T) {
	c, _ := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || string(body) != `{"name":"dev"}` {
			t.Errorf("got %s %s %q", r.Method, r.Header, body)
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{}`)
	})
	if _, err := Tell[environment](t.Context(), c, "environments", nil, environment{"dev"}); err != nil {
		t.Error(err)
	}
}

func TestPostFileSendsTheFileUnchanged(t *testing.T) {
	c, _ := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/api/v1/reports/file" || r.Header.Get("Content-Type") != "application/x-ndjson" || string(body) != "{}\n{}\n" {
			t.Errorf("got %s %s %q", r.URL, r.Header, body)
		}
		fmt.Fprint(w, `{"name":"dev"}`)
	})
	var e environment
	if err := c.PostFile(t.Context(), "reports/file", "application/x-ndjson", []byte("{}\n{}\n"), &e); err != nil || e.Name != "dev" {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		name, kind, body string
		status           int
		text, hint       string
	}{
		{
			name: "an error of the API", status: 422, kind: "application/problem+json",
			body: `{"title":"Unprocessable Entity","detail":"validation failed","errors":[{"message":"want a number","location":"query.limit"}]}`,
			text: "validation failed: query.limit: want a number",
		},
		{name: "no token", status: 401, kind: "application/problem+json", body: `{"detail":"a token is needed","next":"send a header"}`, text: "a token is needed", hint: "KALYPSO_TOKEN"},
		{name: "the wrong role", status: 403, body: `{"detail":"an operator may"}`, text: "an operator may", hint: "another role"},
		{name: "advice of the server", status: 403, body: `{"detail":"an operator may","next":"ask Ann"}`, text: "an operator may", hint: "ask Ann"},
		{name: "a file signed by another cluster", status: 403, kind: "application/problem+json", body: `{"detail":"line 1: not signed"}`, text: "line 1: not signed"},
		{name: "not there", status: 404, kind: "application/problem+json", body: `{"detail":"no environment \"x\""}`, text: `no environment "x"`},
		{name: "another program", status: 404, body: "<html>nothing here", text: "the server answers 404 Not Found", hint: "/api/v1"},
		{name: "broken", status: 500, body: `{"title":"oh"}`, text: "oh", hint: "the server's log"},
		{
			name: "token and control characters in the message", status: 400,
			body: `{"detail":"you sent ` + token + ` \u001b[31m\n and https://ann:hunter2@x.example"}`,
			text: "you sent ************ [31m and https://x.example",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.kind)
				w.WriteHeader(tc.status)
				fmt.Fprint(w, tc.body)
			})
			err := ask(t.Context(), c, "x")
			var r *Refusal
			if !errors.As(err, &r) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if r.Error() != tc.text || !strings.Contains(r.Hint(), tc.hint) || tc.hint == "" && r.Hint() != "" {
				t.Errorf("got %q with the hint %q, want %q with %q", r, r.Hint(), tc.text, tc.hint)
			}
		})
	}
}

func TestRedirectsStayOnTheServer(t *testing.T) {
	var elsewhere atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere.Add(1)
		t.Errorf("another server was called, with %q", r.Header.Get("Authorization"))
	}))
	defer thief.Close()
	c, _ := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/here":
			http.Redirect(w, r, "/api/v1/there", http.StatusTemporaryRedirect)
		case "/api/v1/there":
			fmt.Fprint(w, `{"name":"`+r.Header.Get("Authorization")+`"}`)
		case "/api/v1/round":
			http.Redirect(w, r, "/api/v1/round", http.StatusFound)
		default:
			http.Redirect(w, r, thief.URL+"/api/v1/x", http.StatusTemporaryRedirect)
		}
	})
	if e, err := Ask[environment](t.Context(), c, "here", nil); err != nil || e.Name != "Bearer "+token {
		t.Errorf("a redirect within the server: got %+v, %v", e, err)
	}
	for _, err := range []error{
		ask(t.Context(), c, "away"),
		tell(t.Context(), c, "away"),
		tell(t.Context(), c, "here"),
		ask(t.Context(), c, "round"),
	} {
		if err == nil || !strings.Contains(err.Error(), "the server redirects to ") {
			t.Errorf("got %v", err)
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests went to another server", n)
	}
}

func TestUnusableAnswers(t *testing.T) {
	t.Run("endless", func(t *testing.T) {
		c, _ := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
			spaces := strings.Repeat(" ", 1<<20)
			for range maxAnswer>>20 + 2 {
				if _, err := io.WriteString(w, spaces); err != nil {
					return
				}
			}
		})
		if err := ask(t.Context(), c, "x"); err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a page", func(t *testing.T) {
		c, _ := newClient(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>sign in</html>") })
		if err := ask(t.Context(), c, "x"); !errors.Is(err, ErrNoAPI) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no server", func(t *testing.T) {
		c := &Client{Server: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, sleep: func(context.Context, time.Duration) error { return nil }}
		if err := ask(t.Context(), c, "x"); !errors.Is(err, ErrUnreachable) || !strings.HasPrefix(err.Error(), "reach the server: dial ") {
			t.Errorf("got %v", err)
		}
	})
}

func TestRetries(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct {
		name   string
		status int
		after  string
		method string
		want   []time.Duration // the pauses; the third attempt succeeds
		err    bool
	}{
		{name: "busy", status: 429, after: "3", method: "GET", want: []time.Duration{3 * s, 3 * s}},
		{name: "busy for ever", status: 503, after: "999999999999", method: "GET", want: []time.Duration{60 * s, 60 * s}},
		{name: "restarting behind a proxy", status: 502, method: "GET", want: []time.Duration{s / 2, s}},
		{name: "busy, and not accepted", status: 503, after: "1", method: "POST", want: []time.Duration{s, s}},
		{name: "perhaps accepted", status: 503, method: "POST", err: true},
		{name: "broken", status: 500, method: "GET", err: true},
		{name: "bad request", status: 400, after: "1", method: "GET", err: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := 0
			c, pauses := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked++; asked > 2 {
					fmt.Fprint(w, `{}`)
					return
				}
				w.Header().Set("Retry-After", tc.after)
				w.WriteHeader(tc.status)
			})
			err := c.send(t.Context(), call{method: tc.method, path: "x"}, nil)
			if (err != nil) != tc.err {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(append([]time.Duration(nil), *pauses...), tc.want); diff != "" {
				t.Errorf("pauses (-got +want):\n%s", diff)
			}
		})
	}
}

func TestRequestsGiveUpAfterFiveAttempts(t *testing.T) {
	asked := 0
	c, pauses := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	var said []error
	c.Waiting = func(reason error, _ time.Duration) { said = append(said, reason) }
	if err := ask(t.Context(), c, "x"); err == nil {
		t.Error("five refusals, and no error")
	}
	if asked != maxAttempts || len(*pauses) != maxAttempts-1 || len(said) != maxAttempts-1 {
		t.Errorf("%d requests with %d pauses, %d of them announced", asked, len(*pauses), len(said))
	}
}

// What a user has to change is not tried again: the error comes at once.
func TestLastingErrorsAreNotRetried(t *testing.T) {
	c, pauses := newClient(t, func(http.ResponseWriter, *http.Request) {})
	c.Server.Scheme = "https"
	if err := ask(t.Context(), c, "x"); err == nil || !strings.Contains(err.Error(), "HTTP response to HTTPS client") {
		t.Errorf("got %v", err)
	}
	if !lasting(fmt.Errorf("reach the server: %w", &net.DNSError{IsNotFound: true})) {
		t.Error("an unknown name is tried again")
	}
	if len(*pauses) > 0 {
		t.Errorf("got pauses %v", *pauses)
	}
}

func TestCancelledContextIsNotRetried(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, pauses := newClient(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if err := ask(ctx, c, "x"); !errors.Is(err, context.Canceled) || len(*pauses) > 0 {
		t.Errorf("got %v after %d pauses", err, len(*pauses))
	}
}
